// SPDX-License-Identifier: Apache-2.0
/// What makes two commands the same kind of work, where nobody has named it.
#pragma once

#include <optional>
#include <string>

#include <tracer/process.hpp>

namespace tracer::internal {

/// An engine, a label or an announcement says which tasks are alike. False: they only have a tool of the same name.
bool names_kind(const Context& context);

struct Script {
  std::string path;  ///< Of the script, else of the executable, as the process sees it.
  std::string
      shape;  ///< The arguments, but not the names of data; the folder, where these don't say what is worked on.
};

/// Absent: its arguments or its folder are not known.
std::optional<Script> script_of(const Program& program);

}  // namespace tracer::internal
