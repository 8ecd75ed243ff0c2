// SPDX-License-Identifier: Apache-2.0
#include "rules/container_rules.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kId = "{id}";

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    components.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return components;
}

/// What comes after the last '/', which is cut off with it.
std::string_view cut_last(std::string_view& path) noexcept {
  const std::size_t slash = path.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
  path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  return last;
}

/// `name` is a component with the id.
bool names(std::string_view pattern, std::string_view name, std::string_view id) noexcept {
  const std::size_t at = name.rfind(id);
  const std::size_t place = pattern.find(kId);
  return glob_matches(pattern.substr(0, place), name.substr(0, at)) &&
         glob_matches(pattern.substr(place + kId.size()), name.substr(at + id.size()));
}

bool fits(std::span<const std::string> components, std::string_view path, std::string_view id) noexcept {
  if (!names(components.back(), cut_last(path), id)) return false;
  for (std::size_t left = components.size() - 1; left > 0; --left)
    if (path.empty() || !glob_matches(components[left - 1], cut_last(path))) return false;
  return true;
}

}  // namespace

std::string_view container_cgroup(std::string_view path, std::string_view id) noexcept {
  const std::size_t at = path.find(id);
  if (at == std::string_view::npos) return path;
  return path.substr(0, path.find('/', at));
}

/// Turns a TOML document into rules and their examples.
class ContainerRulesReader {
 public:
  explicit ContainerRulesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  ContainerRules& rules() { return rules_; }

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "runtime"}, mistakes_);
    for_each_table(root, "runtime", mistakes_, [this](const toml::table& table) {
      check_keys(table, "runtime", {"name", "containers", "monitors", "files", "test"}, mistakes_);
      const std::string name = read_string(table, "name", true, mistakes_);
      read_patterns(table, "containers", {name, false, read_files(table)});
      read_patterns(table, "monitors", {name, true});
      read_examples(table, name);
    });
  }

 private:
  void read_patterns(const toml::table& table, std::string_view key, const ContainerPlace& place) {
    for (const std::string& pattern : read_strings(table, key, false, mistakes_)) {
      std::vector<std::string> components = components_of(pattern);
      const bool whole =
          !pattern.ends_with('/') && std::find(components.begin(), components.end(), "") == components.end();
      if (!whole || components.back().find(kId) == std::string::npos || pattern.find(kId) != pattern.rfind(kId)) {
        mistakes_.add(
            line_of(*table.get(key)),
            fmt::format("\"{}\" must be components of a path, with {} once, in the last of them", pattern, kId));
      } else {
        rules_.rules_.push_back({std::move(components), place});
      }
    }
  }

  std::vector<ContainerFile> read_files(const toml::table& runtime) {
    std::vector<ContainerFile> files;
    for_each_table(runtime, "files", mistakes_, [&](const toml::table& table) {
      check_keys(table, "files", {"path", "name", "image"}, mistakes_);
      ContainerFile file{read_string(table, "path", true, mistakes_), read_strings(table, "name", false, mistakes_),
                         read_strings(table, "image", false, mistakes_)};
      if (!file.path.starts_with('/') && !file.path.starts_with("{home}/"))
        mistakes_.add(line_of(table), fmt::format("\"{}\" must begin with / or {{home}}/", file.path));
      if (file.name.empty() && file.image.empty()) mistakes_.add(line_of(table), "a file must have a name or an image");
      files.push_back(std::move(file));
    });
    return files;
  }

  void read_examples(const toml::table& table, const std::string& name) {
    const toml::table* test = read_test(table, {"containers", "monitors"}, mistakes_);
    if (test == nullptr) return;
    for (std::string& path : read_strings(*test, "containers", false, mistakes_))
      rules_.examples_.push_back({std::move(path), {name, false}});
    for (std::string& path : read_strings(*test, "monitors", false, mistakes_))
      rules_.examples_.push_back({std::move(path), {name, true}});
  }

  RuleMistakes& mistakes_;
  ContainerRules rules_;
};

ContainerRules ContainerRules::parse(std::string_view toml, std::string_view origin) {
  ContainerRules rules;
  read_rules(toml, origin, [&rules](const toml::table& root, RuleMistakes& mistakes) {
    ContainerRulesReader reader(mistakes);
    reader.read(root);
    rules = std::move(reader.rules());
  });
  return rules;
}

const ContainerRules& ContainerRules::builtin() {
  static const ContainerRules rules = parse(builtin_rules("containers"), "rules/containers.toml (built in)");
  return rules;
}

std::optional<ContainerPlace> ContainerRules::place_of(std::string_view path, std::string_view id) const {
  const std::string_view cgroup = container_cgroup(path, id);
  if (id.empty() || base_name(cgroup).find(id) == std::string_view::npos) return std::nullopt;
  const auto rule =
      std::find_if(rules_.begin(), rules_.end(), [&](const Rule& each) { return fits(each.components, cgroup, id); });
  if (rule == rules_.end()) return std::nullopt;
  return rule->place;
}

}  // namespace tracer::internal
