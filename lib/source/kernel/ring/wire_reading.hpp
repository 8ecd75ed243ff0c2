// SPDX-License-Identifier: Apache-2.0
/// Reads the bytes of wire records, which are hostile input: what is too short or contradicts itself is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "source/records.hpp"
#include "wire.h"

namespace tracer::internal {

/// Copies a record's fixed part; false when the bytes are too few.
template <class T>
bool take(std::span<const std::byte> bytes, T& record) noexcept {
  if (bytes.size() < sizeof record) return false;
  std::memcpy(&record, bytes.data(), sizeof record);
  return true;
}

/// Cuts `size` bytes off the front of `rest`; absent when there are not so many.
inline std::optional<std::string_view> cut(std::string_view& rest, std::size_t size) noexcept {
  if (rest.size() < size) return std::nullopt;
  const std::string_view part = rest.substr(0, size);
  rest.remove_prefix(size);
  return part;
}

inline std::string_view text_after(std::span<const std::byte> bytes, std::size_t fixed) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()) + fixed, bytes.size() - fixed};
}

/// Up to its NUL, or its end.
template <std::size_t size>
std::string text_in(const char (&bytes)[size]) {
  return {bytes, ::strnlen(bytes, size)};
}

inline std::optional<std::uint64_t> unless_zero(std::uint64_t value) noexcept {
  if (value == 0) return std::nullopt;
  return value;
}

/// False: there is no such hierarchy.
bool take_hierarchy(std::uint32_t wire, Hierarchy& hierarchy) noexcept;
/// False: it contradicts itself.
bool take_identity(const tracer_wire_header& header, const tracer_wire_identity& wire, RecordIdentity& identity);

/// Components, leaf first and each ended by NUL, to a path.
std::string path_of(std::string_view components, bool cut_off);

}  // namespace tracer::internal
