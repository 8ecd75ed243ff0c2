// SPDX-License-Identifier: Apache-2.0
/// What the place that text is printed to can show.
#pragma once

#include <cstddef>
#include <optional>

namespace tracer::internal {

/// By the locale, as LC_ALL, LC_CTYPE and LANG name it, unless a Utf8Scope says otherwise.
bool writes_utf8() noexcept;

/// What this thread formats meanwhile goes where UTF-8 can be shown, or can't, whatever the locale is.
class Utf8Scope {
 public:
  explicit Utf8Scope(bool utf8) noexcept;
  ~Utf8Scope();
  Utf8Scope(const Utf8Scope&) = delete;
  Utf8Scope& operator=(const Utf8Scope&) = delete;

 private:
  std::optional<bool> outer_;
};

/// Signs of the table, in UTF-8 or plain ASCII.
struct Symbols {
  const char* at_least;
  const char* at_most;
  const char* ellipsis;
  const char* running;
  const char* ready;
  const char* unclear;
  const char* waiting;
};
const Symbols& symbols() noexcept;

/// How many columns the terminal has that standard error is; absent: it is none, and lines may be of any length.
std::optional<std::size_t> terminal_columns(int fd) noexcept;

}  // namespace tracer::internal
