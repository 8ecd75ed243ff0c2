// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// HOW: calls the made-up library of a GPU's driver, which must be installed, in a known way.
int ask_gpu(const std::vector<std::string>& arguments);

}  // namespace truth
