// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tracer::internal {

/// A range of user ids that belongs to a user, as /etc/subuid has it: rootless containers run with these.
struct SubordinateIds {
  uid_t owner = 0;
  uid_t first = 0;
  std::uint64_t count = 0;
};

/// From the text of /etc/subuid. Lines with a name that `uid_of` does not know are left out.
std::vector<SubordinateIds> subordinate_ids(std::string_view text, uid_t (*uid_of)(std::string_view name));

/// Which user each user id stands for.
class UserIds {
 public:
  explicit UserIds(std::vector<SubordinateIds> ranges = {}) : ranges_(std::move(ranges)) {}

  /// The user themselves, or the one to whom a subordinate id belongs. Absent: the ranges of two users overlap there.
  std::optional<uid_t> user_of(uid_t uid) const noexcept;
  /// The same; an id that belongs to two users stands for itself.
  uid_t owner_of(uid_t uid) const noexcept { return user_of(uid).value_or(uid); }
  /// The ids that stand for another, in order, each once; where two users' overlap, their owner is `nobody`.
  std::vector<SubordinateIds> apart(uid_t nobody) const;
  /// Both are known, and stand for one user.
  bool same(const std::optional<std::uint32_t>& one, const std::optional<std::uint32_t>& other) const noexcept;

 private:
  std::vector<SubordinateIds> ranges_;
};

}  // namespace tracer::internal
