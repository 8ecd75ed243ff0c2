// SPDX-License-Identifier: Apache-2.0
/// What a described value takes beside itself.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "base/schema.hpp"

namespace tracer::internal {

inline std::size_t heap_bytes(const std::string& text) { return text.size(); }
inline std::size_t heap_bytes(const std::vector<std::string>& texts) {
  std::size_t bytes = texts.size() * sizeof(std::string);
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}
template <class T>
requires(!Described<T>) std::size_t heap_bytes(const T&) { return 0; }

/// The bytes of texts and of shared parts, as if each had them for itself.
template <Described T>
std::size_t heap_bytes(const T& value) {
  std::size_t bytes = 0;
  each_field<T>([&](const auto& described) {
    const auto& member = value.*described.member;
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (kIsListOfStructs<Member>) {
      for (const auto& each : member) bytes += sizeof each + heap_bytes(each);
    } else if constexpr (kIsShared<Member>) {
      if (member) bytes += sizeof *member + heap_bytes(*member);
    } else if constexpr (kIsOptional<Member>) {
      if (member) bytes += heap_bytes(*member);
    } else {
      bytes += heap_bytes(member);
    }
  });
  return bytes;
}

}  // namespace tracer::internal
