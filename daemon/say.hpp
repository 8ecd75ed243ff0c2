// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace tracerd {

/// Writes to standard error. That nobody reads it must never change what happens to the command: errors are passed
/// over, where fmt::print would throw.
template <class... T>
void say(fmt::format_string<T...> format, T&&... values) {
  const std::string text = fmt::format(format, std::forward<T>(values)...);
  [[maybe_unused]] const std::size_t put = std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace tracerd
