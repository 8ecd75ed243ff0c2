// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tracerd {

/// With what failed in red and warnings in yellow, where `fd` is a terminal and NO_COLOR (no-color.org) is not set.
std::string colored(int fd, const std::string& text);

}  // namespace tracerd
