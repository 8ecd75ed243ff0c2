// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace tracer::internal {

/// A file of the repository: above the running test, or above the working directory. The path is not compiled in: the
/// same test in another clone would be another program, to ccache and to what is known to have passed.
inline std::filesystem::path in_repository(const std::string& file) {
  for (std::filesystem::path folder :
       {std::filesystem::read_symlink("/proc/self/exe").parent_path(), std::filesystem::current_path()})
    for (; folder.has_relative_path(); folder = folder.parent_path())
      if (std::filesystem::exists(folder / "tests/data/schema.golden")) return folder / file;
  throw std::runtime_error("this test reads files of the repository: run it from there");
}

}  // namespace tracer::internal
