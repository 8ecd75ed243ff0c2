// SPDX-License-Identifier: Apache-2.0
/// Structs of callers that were built with an older or a newer header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "guard.hpp"

namespace tracer::c {

/// What a struct had in 0.1, to the end of its last field: its least size, forever.
template <class T>
inline constexpr std::size_t kFirstSize = 0;
#define TRACER_FIRST_SIZE(type, last)                                                        \
  template <>                                                                                \
  inline constexpr std::size_t kFirstSize<type> = offsetof(type, last) + sizeof(type::last); \
  static_assert(std::is_trivially_copyable_v<type> && offsetof(type, size) == 0)
TRACER_FIRST_SIZE(tracer_error, private_data);
TRACER_FIRST_SIZE(tracer_problem, detail);
TRACER_FIRST_SIZE(tracer_field_info, reserved);
TRACER_FIRST_SIZE(tracer_event_flat, cause);
TRACER_FIRST_SIZE(tracer_context, reserved);
TRACER_FIRST_SIZE(tracer_filter_rule, context);
TRACER_FIRST_SIZE(tracer_announcement, expires_after_ms);
TRACER_FIRST_SIZE(tracer_submission, expires_after_ms);
TRACER_FIRST_SIZE(tracer_session_options, on_error_destroy);
TRACER_FIRST_SIZE(tracer_queue_options, wait_when_full);
TRACER_FIRST_SIZE(tracer_state_query, field_count);
TRACER_FIRST_SIZE(tracer_family_state, detail);
TRACER_FIRST_SIZE(tracer_check_item, detail);
TRACER_FIRST_SIZE(tracer_statistics, cost_kernel_memory_bytes);
TRACER_FIRST_SIZE(tracer_loss_count, count);
TRACER_FIRST_SIZE(tracer_totals, reserved);
TRACER_FIRST_SIZE(tracer_reason, reserved);
TRACER_FIRST_SIZE(tracer_resolve_options, skip_engine_notes);
TRACER_FIRST_SIZE(tracer_host, reserved);
TRACER_FIRST_SIZE(tracer_damage, reserved);
TRACER_FIRST_SIZE(tracer_past_file, written_unix_ns);
TRACER_FIRST_SIZE(tracer_command_options, reserved);
#undef TRACER_FIRST_SIZE

/// How much a struct of a newer version may have more than this one. What is beyond it was not set, and to fill it
/// would overwrite what the caller has around it.
inline constexpr std::size_t kMostGrowth = 256;

template <class T>
constexpr bool is_size_of(std::size_t size) noexcept {
  return size >= kFirstSize<T> && size <= sizeof(T) + kMostGrowth;
}

template <class T>
void check_size(const T& given, const char* name) {
  if (!is_size_of<T>(given.size))
    throw Refusal{TRACER_WRONG_SIZE, std::string(name) + "->size is not that of this struct",
                  "begin with its TRACER_..._INIT"};
}

/// A later version may give it a meaning: then it must not have had any value before.
inline void check_reserved(std::uint64_t reserved, const char* name) {
  if (reserved != 0)
    throw Refusal{TRACER_WRONG_SIZE, std::string(name) + "->reserved is not 0", "begin with its TRACER_..._INIT"};
}

/// Of what is 0 or 1: other values are for a later version to have a meaning. Throws Refusal.
inline bool flag(std::uint32_t value, const char* name) {
  if (value > 1) throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, std::string(name) + " is neither 0 nor 1"};
  return value == 1;
}

/// A copy with all fields of this version; those that the caller's version has not are 0. Throws Refusal where the
/// caller asks for something that only a newer version has.
template <class T>
T take(const T* given, const char* name) {
  check_size(need(given, name), name);
  T own{};
  std::memcpy(static_cast<void*>(&own), given, std::min(given->size, sizeof(T)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(T); i < given->size; ++i)
    if (bytes[i] != 0)
      throw Refusal{TRACER_WRONG_SIZE, std::string(name) + " has a field that this libtracer does not know",
                    "use the libtracer-c.so that belongs to the header, or leave the field 0"};
  own.size = sizeof(T);
  return own;
}

/// Fills as much as the caller's version has, and zeroes what only that has. The caller's `size` stays.
template <class T>
void give(T* out, const T& value, const char* name) {
  check_size(need(out, name), name);
  const std::size_t size = out->size;
  auto* bytes = reinterpret_cast<unsigned char*>(out);
  std::memcpy(bytes, &value, std::min(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(bytes + sizeof(T), 0, size - sizeof(T));
  out->size = size;
}

}  // namespace tracer::c
