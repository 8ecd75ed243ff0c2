// SPDX-License-Identifier: Apache-2.0
/// Schemas and arrays of the Arrow C data interface: each owns what it points to, so that a consumer may keep a child.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <tracer/arrow.h>

#include "table/memory.hpp"

namespace tracer::internal {

/// Released with this object, unless it was given away.
template <class T>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : value_(other.give()) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Owned() {
    if (value_.release != nullptr) value_.release(&value_);
  }
  T give() noexcept {
    T given = value_;
    value_.release = nullptr;
    return given;
  }
  T* get() noexcept { return &value_; }
  T& operator*() noexcept { return value_; }
  T* operator->() noexcept { return &value_; }

 private:
  T value_{};
};
using OwnedSchema = Owned<ArrowSchema>;
using OwnedArray = Owned<ArrowArray>;

OwnedSchema make_schema(std::string format, std::string name, bool nullable, std::vector<OwnedSchema> children = {});
/// 32-bit numbers of a dictionary of texts.
OwnedSchema make_dictionary_schema(std::string name, bool nullable);

/// The buffers in Arrow's order; a null one for a validity without nulls.
OwnedArray make_array(std::size_t length, std::size_t nulls, std::initializer_list<Memory> buffers,
                      std::vector<OwnedArray> children = {}, OwnedArray dictionary = {});

}  // namespace tracer::internal
