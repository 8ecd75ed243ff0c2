// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <tracer/event.hpp>

#include "base/leaves.hpp"

namespace tracer::c {

/// A field of an event, found by its number.
struct FieldValue {
  bool known = false;  ///< There is such a field; all else is only then right.
  internal::Type type = internal::Type::kU64;
  bool list = false;         ///< Of structs or of texts.
  bool absent_list = false;  ///< Of a list: it is not known.
  std::size_t count = 0;     ///< Of a list: how many elements.
  bool present = false;      ///< It has a value; of a list: at the index.
  std::uint64_t number = 0;
  std::int64_t signed_number = 0;
  const std::string* text = nullptr;
};

/// `index` is read where there is a list. The field must be one of the event's kind.
FieldValue field_value(const Event& event, internal::FieldId field, std::size_t index);

}  // namespace tracer::c
