// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/process_schema.hpp"

namespace tracer::internal {

/// What becomes of a sum when a figure is not known of one of its parts.
enum class Unknown {
  kSpreads,   ///< Then the sum is not known either.
  kIsPassed,  ///< The sum is that of the known parts.
};

inline void add_figure(std::uint64_t& sum, std::uint64_t more, Unknown) { sum += more; }
inline void add_figure(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more, Unknown unknown) {
  if (more && (sum || unknown == Unknown::kIsPassed)) {
    sum = sum.value_or(0) + *more;
  } else if (!more && unknown == Unknown::kSpreads) {
    sum.reset();
  }
}

/// Its CPU time, or the lower bound of that; absent: nothing is known.
inline std::optional<std::uint64_t> least_cpu_ns(const Account& account) {
  return account.cpu_ns ? account.cpu_ns : account.cpu_at_least_ns;
}

/// As below; with kSpreads, the lower bound stands where the CPU time of a part is unknown.
inline void add_figures(Account& sum, const Account& more, Unknown unknown);

/// Adds each figure of `more` to that of the same name. What has no unit, such as a pid, stays as it is.
template <Described T>
void add_figures(T& sum, const T& more, Unknown unknown) {
  each_field<T>([&](const auto& described) {
    auto& left = sum.*described.member;
    const auto& right = more.*described.member;
    using Member = std::remove_cvref_t<decltype(right)>;
    if constexpr (Described<Member>) {
      add_figures(left, right, unknown);
    } else if constexpr (Described<Inner<Member>>) {
      if (left && right) {
        add_figures(*left, *right, unknown);
      } else if (unknown == Unknown::kSpreads) {
        left.reset();
      } else if (right) {
        left = right;
      }
    } else if constexpr (std::same_as<Inner<Member>, std::uint64_t>) {
      if (described.unit != Unit::kNone) add_figure(left, right, unknown);
    }
  });
}

inline void add_figures(Account& sum, const Account& more, Unknown unknown) {
  if (unknown == Unknown::kIsPassed) return add_figures<Account>(sum, more, unknown);
  std::optional<std::uint64_t> bound = least_cpu_ns(sum);
  add_figure(bound, least_cpu_ns(more), Unknown::kIsPassed);
  add_figures<Account>(sum, more, unknown);
  sum.cpu_at_least_ns = sum.cpu_ns ? std::nullopt : bound;
}

/// Of a sum over processes, no process is the peer.
inline void forget_peers(Account& sum) {
  if (!sum.ledger) return;
  sum.ledger->pipe_read_peer_pid.reset();
  sum.ledger->pipe_write_peer_pid.reset();
  sum.ledger->local_socket_peer_pid.reset();
  sum.ledger->lock_peer_pid.reset();
}

/// Takes off each figure of `less`, where both are known; what is unknown of `less` counts as nothing.
template <Described T>
void take_off_figures(T& sum, const T& less) {
  each_field<T>([&](const auto& described) {
    auto& left = sum.*described.member;
    const auto& right = less.*described.member;
    using Member = std::remove_cvref_t<decltype(right)>;
    if constexpr (Described<Member>) {
      take_off_figures(left, right);
    } else if constexpr (Described<Inner<Member>>) {
      if (left && right) take_off_figures(*left, *right);
    } else if constexpr (std::same_as<Member, std::uint64_t>) {
      if (described.unit != Unit::kNone) left -= std::min(left, right);
    } else if constexpr (std::same_as<Member, std::optional<std::uint64_t>>) {
      if (described.unit != Unit::kNone && left && right) left = *left - std::min(*left, *right);
    }
  });
}

}  // namespace tracer::internal
