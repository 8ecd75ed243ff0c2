// SPDX-License-Identifier: Apache-2.0
#include "rules/file_rules.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"

namespace tracer::internal {

/// Turns a TOML document into rules and their examples.
class FileRulesReader {
 public:
  explicit FileRulesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  FileRules& rules() { return rules_; }

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "kinds", "noise"}, mistakes_);
    read_kinds(root);
    for_each_table(root, "noise", mistakes_, [this](const toml::table& table) {
      check_keys(table, "noise", {"filesystems", "folders", "files", "inside", "programs", "names", "test"}, mistakes_);
      read_filesystems(table);
      read_paths(table, "folders", rules_.folders_);
      read_paths(table, "files", rules_.files_);
      read_below(table);
      for (std::string& name : read_strings(table, "programs", false, mistakes_))
        rules_.programs_.insert(std::move(name));
      for (std::string& name : read_strings(table, "names", false, mistakes_)) rules_.names_.push_back(std::move(name));
      read_examples(table);
    });
  }

 private:
  void read_kinds(const toml::table& root) {
    for (std::string& ending : read_strings(root, "kinds", false, mistakes_)) {
      const bool is_plain = !ending.empty() && std::all_of(ending.begin(), ending.end(), [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
      });
      if (!is_plain)
        mistakes_.add(line_of(*root.get("kinds")),
                      fmt::format("\"{}\" must be an ending of small letters and digits, without a dot", ending));
      rules_.kinds_.insert(std::move(ending));
    }
  }

  void read_filesystems(const toml::table& table) {
    const toml::node* node = table.get("filesystems");
    if (node == nullptr) return;
    const toml::table* filesystems = node->as_table();
    if (filesystems == nullptr) return mistakes_.add(line_of(*node), "filesystems must be a table of magic numbers");
    for (const auto& [name, value] : *filesystems) {
      const auto magic = value.value<std::int64_t>();
      if (!magic || *magic <= 0 || *magic > std::numeric_limits<std::uint32_t>::max()) {
        mistakes_.add(line_of(value), fmt::format("{} must be a magic number of 32 bits", name.str()));
      } else {
        rules_.filesystems_.push_back(static_cast<std::uint32_t>(*magic));
      }
    }
  }

  void read_paths(const toml::table& table, std::string_view key, std::unordered_set<std::string>& paths) {
    for (std::string& path : read_strings(table, key, false, mistakes_)) {
      if (!path.starts_with('/') || path.ends_with('/'))
        mistakes_.add(line_of(*table.get(key)), fmt::format("\"{}\" must begin with '/' and not end with it", path));
      paths.insert(std::move(path));
    }
  }

  void read_below(const toml::table& table) {
    for (std::string& names : read_strings(table, "inside", false, mistakes_)) {
      if (names.empty() || names.starts_with('/') || names.ends_with('/') ||
          std::count(names.begin(), names.end(), '/') > 1)
        mistakes_.add(line_of(*table.get("inside")), fmt::format("\"{}\" must be one name, or two with a '/'", names));
      rules_.inside_.insert(std::move(names));
    }
  }

  void read_examples(const toml::table& table) {
    const toml::table* test = read_test(table, {"noise", "data"}, mistakes_);
    if (test == nullptr) return;
    for (std::string& path : read_strings(*test, "noise", false, mistakes_))
      rules_.examples_.push_back({std::move(path), true});
    for (std::string& path : read_strings(*test, "data", false, mistakes_))
      rules_.examples_.push_back({std::move(path), false});
  }

  RuleMistakes& mistakes_;
  FileRules rules_;
};

FileRules FileRules::parse(std::string_view toml, std::string_view origin) {
  FileRules rules;
  read_rules(toml, origin, [&rules](const toml::table& root, RuleMistakes& mistakes) {
    FileRulesReader reader(mistakes);
    reader.read(root);
    rules = std::move(reader.rules());
  });
  return rules;
}

const FileRules& FileRules::builtin() {
  static const FileRules rules = parse(builtin_rules("files"), "rules/files.toml (built in)");
  return rules;
}

bool FileRules::is_noise(std::string_view path) const {
  if (files_.contains(std::string(path))) return true;
  std::string_view folder;
  // Where the names of the folder, and of the one that it is in, begin.
  std::size_t begin = 1;
  std::size_t begin_of_upper = 1;
  for (std::size_t end = path.find('/', 1); end != std::string_view::npos; end = path.find('/', end + 1)) {
    folder = path.substr(begin, end - begin);
    if (folders_.contains(std::string(path.substr(0, end))) || inside_.contains(std::string(folder)) ||
        inside_.contains(std::string(path.substr(begin_of_upper, end - begin_of_upper))))
      return true;
    begin_of_upper = std::exchange(begin, end + 1);
  }
  const std::string_view name = base_name(path);
  if (name.find('.') == std::string_view::npos && programs_.contains(std::string(folder))) return true;
  return std::any_of(names_.begin(), names_.end(),
                     [name](const std::string& glob) { return glob_matches(glob, name); });
}

}  // namespace tracer::internal
