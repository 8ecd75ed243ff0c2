// SPDX-License-Identifier: Apache-2.0
/// How C++ ends at the border: exceptions become statuses, handles are checked.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tracer.h>
#include <tracer/error.hpp>

namespace tracer::c {

/// Thrown for what C++ has no code for, or what a caller of C++ can't do wrong.
struct Refusal {
  tracer_status status = TRACER_ERROR_INVALID_ARGUMENT;
  std::string what;
  std::string fix = {};
};

/// Clears it for what comes. False: its size is not one of a tracer_error. Null is fine.
bool prepare(tracer_error* error) noexcept;
/// Of the exception that is being handled; kept in `error`, unless that is null.
tracer_status store_current(tracer_error* error) noexcept;
void store(tracer_error* error, const Problem& problem);

inline tracer_status status_of(ErrorCode code) noexcept { return -static_cast<tracer_status>(code); }

/// Runs `body`, which returns nothing or a status.
template <class Body>
tracer_status guard(tracer_error* error, Body&& body) noexcept {
  if (!prepare(error)) return TRACER_WRONG_SIZE;
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return TRACER_OK;
    } else {
      return body();
    }
  } catch (...) {
    return store_current(error);
  }
}

/// Likewise for what makes a handle, which is null where it fails.
template <class Handle, class Body>
tracer_status guard_make(Handle** out, tracer_error* error, Body&& body) noexcept {
  if (out != nullptr) *out = nullptr;
  return guard(error, [&] {
    if (out == nullptr) throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, "out is NULL"};
    *out = body();
  });
}

/// Whose handle it is: in a fork's child the threads and locks of the parent are missing.
class Owner {
 public:
  bool elsewhere() const noexcept { return ::getpid() != pid_; }

 private:
  pid_t pid_ = ::getpid();
};

template <class T>
T& need(T* pointer, const char* name) {
  if (pointer == nullptr) throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, std::string(name) + " is NULL"};
  return *pointer;
}

/// Of a handle with an Owner.
template <class Handle>
Handle& need_own(Handle* handle, const char* name) {
  Handle& good = need(handle, name);
  if (good.owner.elsewhere())
    throw Refusal{TRACER_FORKED, std::string("this ") + name + " was made by another process",
                  "make a new one in a fork's child"};
  return good;
}

/// Deletes it; in a fork's child it is only forgotten.
template <class Handle>
void free_own(Handle* handle) noexcept {
  if (handle != nullptr && !handle->owner.elsewhere()) delete handle;
}

/// Throws Refusal for what is no string, or has a NUL.
std::optional<std::string> optional_text(tracer_string string, const char* name);
/// Likewise; absent is empty.
std::string text_or_empty(tracer_string string, const char* name);

inline tracer_string string_of(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline tracer_string string_of(const std::string& text) noexcept { return {text.data(), text.size()}; }
inline tracer_string string_of(const std::optional<std::string>& text) noexcept {
  return text ? tracer_string{text->data(), text->size()} : tracer_string{nullptr, 0};
}

}  // namespace tracer::c

struct tracer_text {
  std::string text;
};
