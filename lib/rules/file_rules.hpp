// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace tracer::internal {

/// An example that the rules carry, so that they test themselves.
struct FileExample {
  std::string path;
  bool noise = false;
};

/// Which files are none of a workload's data, and what names say of data, by rules/files.toml. Immutable after parse(),
/// so any thread may ask.
class FileRules {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static FileRules parse(std::string_view toml, std::string_view origin);
  /// The rules that are built into the library; parsed once.
  static const FileRules& builtin();

  /// By its absolute path. Linear time on hostile input.
  bool is_noise(std::string_view path) const;
  /// Magic numbers of file systems of which no file is data.
  const std::vector<std::uint32_t>& noise_filesystems() const noexcept { return filesystems_; }
  /// An ending, in small letters and without its dot, says what kind of data a file has.
  bool says_kind(const std::string& ending) const { return kinds_.contains(ending); }
  const std::vector<FileExample>& examples() const noexcept { return examples_; }

 private:
  friend class FileRulesReader;

  std::vector<std::uint32_t> filesystems_;
  std::unordered_set<std::string> folders_;
  std::unordered_set<std::string> files_;
  std::unordered_set<std::string> inside_;    ///< "name" or "name/name" of folders, wherever they are.
  std::unordered_set<std::string> programs_;  ///< Names of folders.
  std::vector<std::string> names_;            ///< Globs.
  std::unordered_set<std::string> kinds_;
  std::vector<FileExample> examples_;
};

}  // namespace tracer::internal
