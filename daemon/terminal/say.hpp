// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <fmt/format.h>

#include "terminal/messages.hpp"

namespace tracerd {

/// Writes to standard error. That nobody reads it must never change what happens to the command: errors are passed
/// over, where fmt::print would throw.
template <class... T>
void say(fmt::format_string<T...> format, T&&... values) {
  put_message(fmt::format(format, std::forward<T>(values)...));
}

}  // namespace tracerd
