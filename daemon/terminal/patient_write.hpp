// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace tracerd {

/// Whether a short text can be written there at once. A terminal that was stopped (^S, tcflow) takes none.
bool takes_text(int fd) noexcept;

enum class Written { kAll, kGivenUp, kFailed };

/// Writes all of it, as the file takes it. Asks `go_on` where nothing is taken, at least every 100 ms, and gives up if
/// it says no. kFailed: errno says why.
Written write_patiently(int fd, std::string_view text, const std::function<bool()>& go_on);

}  // namespace tracerd
