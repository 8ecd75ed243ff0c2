// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace tracer::internal {

/// The text of a rules file. Throws Error(kFileUnreadable) with errno.
std::string read_rules_file(const std::filesystem::path& file);

/// Of a file, as Rules::load(file, more …) reads it; of no name, the built-in ones, which all sessions share.
template <class Rules, class... More>
std::shared_ptr<const Rules> rules_in(const std::filesystem::path& file, More... more) {
  if (file.empty()) return {std::shared_ptr<const Rules>(), &Rules::builtin()};
  return std::make_shared<const Rules>(Rules::load(file, more...));
}

}  // namespace tracer::internal
