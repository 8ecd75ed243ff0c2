// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracerd {

/// "; did you mean 'report'?": the name that is fewest typing mistakes away, two at most. Empty: none is.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace tracerd
