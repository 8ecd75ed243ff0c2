// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tracerd {

/// What the C library has taken from this program, as its file has capabilities, is in it: TMPDIR, LD_LIBRARY_PATH …
/// A command, which gets no capability, is to have them. Absent: nothing was taken, or the kernel does not show it.
std::optional<std::vector<std::string>> given_environment();

}  // namespace tracerd
