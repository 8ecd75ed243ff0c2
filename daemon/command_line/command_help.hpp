// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

namespace tracerd {

/// All commands with their options and what is said about them.
std::unique_ptr<CLI::App> make_app();

}  // namespace tracerd
