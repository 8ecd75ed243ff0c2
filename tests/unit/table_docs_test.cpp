// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/table.hpp>

#include "in_repository.hpp"
#include "table/columns.hpp"
#include "table/table_layout.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

std::string type_of(const TableColumn& column) {
  if (column.fields.empty()) {
    if (column.type == Type::kTexts) return "list of text";
    return is_text(column.type) ? "text" : std::string(to_string(column.type));
  }
  std::string fields;
  for (const TableColumn& field : column.fields)
    fields += (fields.empty() ? "" : ", ") + field.name + ' ' + type_of(field);
  return "list of (" + fields + ")";
}

/// As docs/tables.md has it.
std::vector<std::string> lines_of(Table table) {
  std::vector<std::string> lines;
  for (const TableColumn& column : layout_of(table).columns)
    lines.push_back(column.name + ": " + type_of(column) + (column.nullable ? ", null" : ""));
  return lines;
}

std::vector<std::string> documentation() {
  std::ifstream file(in_repository("docs/tables.md"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// `all` with the columns of the tables as they are now.
std::vector<std::string> filled(const std::vector<std::string>& all) {
  std::vector<std::string> out;
  std::optional<Table> table;
  bool in_block = false;
  for (const std::string& line : all) {
    if (line.starts_with("## ")) table = table_from_name(line.substr(3));
    if (in_block && line != "```") continue;
    out.push_back(line);
    if (in_block) {
      in_block = false;
    } else if (table && line == "```text") {
      in_block = true;
      for (std::string& column : lines_of(*table)) out.push_back(std::move(column));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("docs/tables.md lists the columns of all tables") {
  // TRACER_UPDATE_GOLDEN=1 writes them.
  const std::vector<std::string> now = filled(documentation());
  if (std::getenv("TRACER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(in_repository("docs/tables.md"));
    for (const std::string& line : now) file << line << '\n';
  }
  const std::vector<std::string> documented = documentation();
  REQUIRE(documented.size() == now.size());
  for (std::size_t i = 0; i < now.size(); ++i) CHECK(documented[i] == now[i]);
  for (int i = 0; i < 12; ++i) {
    const std::string title = "## " + std::string(to_string(static_cast<Table>(i)));
    CHECK(std::find(documented.begin(), documented.end(), title) != documented.end());
  }
}
