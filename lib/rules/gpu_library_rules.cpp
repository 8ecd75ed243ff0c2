// SPDX-License-Identifier: Apache-2.0
#include "rules/gpu_library_rules.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"

namespace tracer::internal {

/// Turns a TOML document into rules.
class GpuLibraryRulesReader {
 public:
  explicit GpuLibraryRulesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  GpuLibraryRules& rules() { return rules_; }

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "folders", "library"}, mistakes_);
    rules_.folders_ = read_strings(root, "folders", false, mistakes_);
    for (const std::string& folder : rules_.folders_)
      if (!folder.starts_with('/')) mistakes_.add(line_of(root), fmt::format("\"{}\" is no absolute path", folder));
    for_each_table(root, "library", mistakes_, [this](const toml::table& table) { read_library(table); });
  }

 private:
  static constexpr std::size_t kMostInterface = 15;

  void read_library(const toml::table& table) {
    check_keys(table, "library", {"interface", "files", "function"}, mistakes_);
    GpuLibraryRule rule;
    rule.interface = read_string(table, "interface", true, mistakes_);
    if (rule.interface.size() > kMostInterface)
      mistakes_.add(line_of(table), fmt::format("\"interface\" has more than {} bytes", kMostInterface));
    rule.files = read_strings(table, "files", false, mistakes_);
    for (const std::string& file : rule.files)
      if (file.find('/') != std::string::npos)
        mistakes_.add(line_of(table), fmt::format("\"{}\" is a path: folders are named in \"folders\"", file));
    std::set<std::string> names;
    for_each_table(table, "function", mistakes_, [&](const toml::table& functions) {
      for (GpuFunction& function : read_functions(functions)) {
        if (!names.insert(function.name).second)
          mistakes_.add(line_of(functions), fmt::format("\"{}\" is there twice", function.name));
        rule.functions.push_back(std::move(function));
      }
    });
    rules_.libraries_.push_back(std::move(rule));
  }

  std::vector<GpuFunction> read_functions(const toml::table& table) {
    check_keys(table, "function", {"does", "names", "bytes", "freed"}, mistakes_);
    GpuFunction function;
    const auto does = does_of(read_string(table, "does", true, mistakes_));
    if (!does)
      mistakes_.add(line_of(table), "\"does\" must be \"allocate\", \"free\", \"wait\" or \"switch\"");
    else
      function.does = *does;
    read_arguments(table, function);
    std::vector<GpuFunction> functions;
    for (std::string& name : read_strings(table, "names", false, mistakes_)) {
      function.name = std::move(name);
      functions.push_back(function);
    }
    return functions;
  }

  void read_arguments(const toml::table& table, GpuFunction& function) {
    using Does = GpuFunction::Does;
    const bool has_bytes = table.contains("bytes");
    const bool has_freed = table.contains("freed");
    if (has_bytes != (function.does == Does::kAllocate) || has_freed != (function.does == Does::kFree))
      return mistakes_.add(line_of(table),
                           "\"bytes\" belongs to what allocates, \"freed\" to what frees, and to nothing else");
    if (has_freed) {
      const std::int64_t freed = read_integer(table, "freed", 0, mistakes_);
      if (freed < 1 || freed > kMostArguments)
        return mistakes_.add(line_of(table), fmt::format("\"freed\" must be from 1 to {}", kMostArguments));
      function.arguments[0] = static_cast<std::uint8_t>(freed);
    }
    if (!has_bytes) return;
    const auto bytes = read_integers(table, "bytes", 1, kMostArguments, mistakes_);
    if (bytes.empty() || bytes.size() > function.arguments.size())
      return mistakes_.add(line_of(table), "\"bytes\" must be one argument or two");
    for (std::size_t i = 0; i < bytes.size(); ++i) function.arguments[i] = static_cast<std::uint8_t>(bytes[i]);
  }

  static std::optional<GpuFunction::Does> does_of(std::string_view word) {
    using Does = GpuFunction::Does;
    for (const auto& [name, does] : {std::pair("allocate", Does::kAllocate), std::pair("free", Does::kFree),
                                     std::pair("wait", Does::kWait), std::pair("switch", Does::kSwitch)})
      if (word == name) return does;
    return std::nullopt;
  }

  static constexpr std::int64_t kMostArguments = 4;

  RuleMistakes& mistakes_;
  GpuLibraryRules rules_;
};

GpuLibraryRules GpuLibraryRules::parse(std::string_view toml, std::string_view origin) {
  GpuLibraryRules rules;
  read_rules(toml, origin, [&rules](const toml::table& root, RuleMistakes& mistakes) {
    GpuLibraryRulesReader reader(mistakes);
    reader.read(root);
    rules = std::move(reader.rules());
  });
  return rules;
}

const GpuLibraryRules& GpuLibraryRules::builtin() {
  static const GpuLibraryRules rules = parse(builtin_rules("gpu_libraries"), "rules/gpu_libraries.toml (built in)");
  return rules;
}

}  // namespace tracer::internal
