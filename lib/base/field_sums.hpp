// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/event_fields.hpp"

namespace tracer {

/// What becomes of a sum when a figure is not known of one of its parts.
enum class Unknown {
  kSpreads,   ///< Then the sum is not known either.
  kIsPassed,  ///< The sum is that of the known parts.
};

/// Adds each figure of `more` to that of the same name. Pids are no figures: they stay as they are.
template <class T>
class FieldAdder {
 public:
  FieldAdder(const T& more, Unknown unknown) : unknown_(unknown) { visit_fields(*this, more); }
  void add_to(T& sum) { visit_fields(*this, sum); }

  void operator()(const char*, const std::optional<std::uint64_t>& value) { values_.push_back(value); }
  void operator()(const char*, std::optional<std::uint64_t>& sum) {
    const auto& value = values_[next_++];
    if (value && (sum || unknown_ == Unknown::kIsPassed)) {
      sum = sum.value_or(0) + *value;
    } else if (!value && unknown_ == Unknown::kSpreads) {
      sum.reset();
    }
  }
  void operator()(const char*, const std::optional<std::uint32_t>&) {}
  template <class Group>
  void group(const char*, Group& member) {
    visit_fields(*this, member);
  }

 private:
  Unknown unknown_;
  std::vector<std::optional<std::uint64_t>> values_;
  std::size_t next_ = 0;
};

template <class T>
void add_fields(T& sum, const T& more, Unknown unknown) {
  FieldAdder<T>(more, unknown).add_to(sum);
}

}  // namespace tracer
