// SPDX-License-Identifier: Apache-2.0
#include "rules/port_names.hpp"

#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"

namespace tracer::internal {

/// Turns a TOML document into names.
class PortNamesReader {
 public:
  explicit PortNamesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  PortNames& names() { return names_; }

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "ports"}, mistakes_);
    for_each_table(root, "ports", mistakes_, [this](const toml::table& table) {
      check_keys(table, "ports", {"name", "protocols", "numbers"}, mistakes_);
      const std::string name = read_string(table, "name", true, mistakes_);
      const std::vector<std::uint16_t> numbers = read_numbers(table);
      for (const std::string& protocol : read_strings(table, "protocols", false, mistakes_)) {
        if (protocol != "tcp" && protocol != "udp")
          mistakes_.add(line_of(table), fmt::format("there is no protocol \"{}\": tcp or udp", protocol));
        for (const std::uint16_t number : numbers) add(protocol, number, name, line_of(table));
      }
    });
  }

 private:
  std::vector<std::uint16_t> read_numbers(const toml::table& table) {
    std::vector<std::uint16_t> numbers;
    const toml::array* const array = table.get_as<toml::array>("numbers");
    if (array != nullptr)
      for (const toml::node& node : *array) {
        const std::int64_t number = node.value<std::int64_t>().value_or(0);
        if (number < 1 || number > 65535)
          mistakes_.add(line_of(table), "\"numbers\" must be ports from 1 to 65535");
        else
          numbers.push_back(static_cast<std::uint16_t>(number));
      }
    else
      mistakes_.add(line_of(table), "\"numbers\" is missing, or no list");
    return numbers;
  }

  void add(const std::string& protocol, std::uint16_t number, const std::string& name, std::size_t line) {
    const auto [known, fresh] = names_.names_.try_emplace({protocol, number}, name);
    if (!fresh)
      mistakes_.add(line, fmt::format("{} {} has two names: {} and {}", protocol, number, known->second, name));
  }

  RuleMistakes& mistakes_;
  PortNames names_;
};

PortNames PortNames::parse(std::string_view toml, std::string_view origin) {
  PortNames names;
  read_rules(toml, origin, [&names](const toml::table& root, RuleMistakes& mistakes) {
    PortNamesReader reader(mistakes);
    reader.read(root);
    names = std::move(reader.names());
  });
  return names;
}

const PortNames& PortNames::builtin() {
  static const PortNames names = parse(builtin_rules("ports"), "rules/ports.toml (built in)");
  return names;
}

std::optional<std::string> PortNames::name_of(std::string_view protocol, std::uint16_t port) const {
  const auto found = names_.find(std::pair(std::string(protocol), port));
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

}  // namespace tracer::internal
