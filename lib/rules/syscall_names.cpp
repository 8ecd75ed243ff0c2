// SPDX-License-Identifier: Apache-2.0
#include "rules/syscall_names.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"

namespace tracer::internal {

/// Turns a TOML document into names.
class SyscallNamesReader {
 public:
  explicit SyscallNamesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  SyscallNames& names() { return names_; }

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "calls"}, mistakes_);
    for_each_table(root, "calls", mistakes_, [this](const toml::table& table) {
      check_keys(table, "calls", {"architectures", "first", "names"}, mistakes_);
      const std::vector<std::string> names = read_strings(table, "names", false, mistakes_);
      const std::int64_t first = read_integer(table, "first", -1, mistakes_);
      if (first < 0 || first > kMostNumber) {
        mistakes_.add(line_of(table), fmt::format("\"first\" must be a number from 0 to {}", kMostNumber));
        return;
      }
      for (const std::string& architecture : read_strings(table, "architectures", false, mistakes_))
        for (std::size_t i = 0; i < names.size(); ++i)
          add(architecture, static_cast<std::size_t>(first) + i, names[i], line_of(table));
    });
  }

 private:
  static constexpr std::int64_t kMostNumber = 1023;

  void add(const std::string& architecture, std::size_t number, const std::string& name, std::size_t line) {
    std::vector<std::string>& names = names_.names_[architecture];
    names.resize(std::max(names.size(), number + 1));
    if (!names[number].empty())
      mistakes_.add(
          line, fmt::format("the call {} of {} has two names: {} and {}", number, architecture, names[number], name));
    names[number] = name;
  }

  RuleMistakes& mistakes_;
  SyscallNames names_;
};

SyscallNames SyscallNames::parse(std::string_view toml, std::string_view origin) {
  SyscallNames names;
  read_rules(toml, origin, [&names](const toml::table& root, RuleMistakes& mistakes) {
    SyscallNamesReader reader(mistakes);
    reader.read(root);
    names = std::move(reader.names());
  });
  return names;
}

const SyscallNames& SyscallNames::builtin() {
  static const SyscallNames names = parse(builtin_rules("syscalls"), "rules/syscalls.toml (built in)");
  return names;
}

std::optional<std::string> SyscallNames::name_of(std::string_view architecture, std::uint32_t number) const {
  const auto names = names_.find(architecture);
  if (names == names_.end() || number >= names->second.size() || names->second[number].empty()) return std::nullopt;
  return names->second[number];
}

}  // namespace tracer::internal
