// SPDX-License-Identifier: Apache-2.0
#include "base/leaves.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/event_schema.hpp"
#include "in_repository.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

std::filesystem::path golden_file() { return in_repository("tests/data/schema.golden"); }

std::vector<EventKind> kinds() {
  std::vector<EventKind> all;
  [&]<class... E>(TypeList<E...>) { (all.push_back(E::kKind), ...); }(EventTypes());
  return all;
}

/// One line a field, by id.
std::map<FieldId, std::string> lines() {
  std::map<FieldId, std::string> all;
  for (const EventKind kind : kinds())
    for (const Leaf& leaf : leaves(kind))
      all[leaf.id] = fmt::format("{:016x} {}.{} {} {}{}", leaf.id, to_string(kind), leaf.name, to_string(leaf.type),
                                 leaf.unit == Unit::kNone ? "-" : to_string(leaf.unit), leaf.nullable ? " null" : "");
  return all;
}

/// Of docs/fields.md, by title, with what is below them.
std::map<std::string, std::string> documented_sections() {
  std::ifstream file(in_repository("docs/fields.md"));
  std::map<std::string, std::string> sections;
  std::string title;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) title = line.substr(3);
    sections[title] += line + '\n';
  }
  return sections;
}

}  // namespace

TEST_CASE("fields keep their ids, names, types and units; new ones are added to the golden file") {
  // TRACER_UPDATE_GOLDEN=1 writes it. A line that changes or goes breaks every recording that has the field.
  if (std::getenv("TRACER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(golden_file());
    for (const auto& [id, line] : lines()) file << line << '\n';
  }
  std::ifstream file(golden_file());
  std::set<std::string> golden;
  const auto ours = lines();
  for (std::string line; std::getline(file, line);) {
    CAPTURE(line);
    golden.insert(line);
    const auto found = ours.find(std::stoull(line, nullptr, 16));
    REQUIRE(found != ours.end());
    CHECK(found->second == line);
  }
  for (const auto& [id, line] : ours) {
    CAPTURE(line);
    CHECK(golden.contains(line));
  }
}

TEST_CASE("ids and names are unique, and ids begin with their kind") {
  std::set<FieldId> ids;
  for (const EventKind kind : kinds()) {
    std::set<std::string> names;
    for (const Leaf& leaf : leaves(kind)) {
      CAPTURE(leaf.name);
      CHECK(ids.insert(leaf.id).second);
      CHECK(names.insert(leaf.name).second);
      CHECK((leaf.id >> 48) == static_cast<std::uint64_t>(kind));
    }
    CHECK(leaves(kind).front().name == "time_ns");
  }
  CHECK(leaves(EventKind::kNone).empty());
}

TEST_CASE("a leaf knows the groups that it is in") {
  const auto named = [](EventKind kind, std::string_view name) {
    for (const Leaf& leaf : leaves(kind))
      if (leaf.name == name) return leaf;
    return Leaf{};
  };
  const Leaf wall = named(EventKind::kProcessExit, "program.ledger.wall_ns");
  CHECK(wall.id == 0x0066'0a'04'13'10'00'00);
  CHECK(wall.nullable);
  CHECK_FALSE(wall.dictionary);
  CHECK(named(EventKind::kProcessExit, "exe").dictionary);
  CHECK(named(EventKind::kProcessExit, "program.exe").dictionary);
  CHECK(named(EventKind::kLoss, "by_kind.count").list);
  CHECK_FALSE(named(EventKind::kLoss, "count").nullable);
}

TEST_CASE("each field is documented in the section of its kind, or of what kinds have in common") {
  const auto sections = documented_sections();
  std::string common;
  for (const char* title : {"In every event", "The process", "A program", "Accounts", "Runs and tasks"})
    common += sections.at(title);
  for (const EventKind kind : kinds()) {
    const std::string docs = sections.at(fmt::format("`{}`", to_string(kind))) + common;
    for (const Leaf& leaf : leaves(kind)) {
      const std::string last = leaf.name.substr(leaf.name.rfind('.') + 1);
      CAPTURE(leaf.name);
      CHECK((docs.find('`' + last + '`') != std::string::npos || docs.find('.' + last + '`') != std::string::npos));
      const auto ends = [&last](const char* suffix) { return last.ends_with(suffix); };
      CHECK((leaf.unit == Unit::kNs) == ends("_ns"));
      CHECK((leaf.unit == Unit::kBytes) == ends("_bytes"));
      CHECK((leaf.unit == Unit::kBytesPerS) == ends("bytes_per_s"));
    }
  }
}
