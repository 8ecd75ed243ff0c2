// SPDX-License-Identifier: Apache-2.0
/// The table of families, and what is made from it or must agree with it.
#include <tracer/families.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <tracer/event.hpp>
#include <tracer/session.hpp>

#include "in_repository.hpp"

using namespace tracer;
using tracer::internal::in_repository;

namespace {

std::string text_of(const char* file) {
  std::ifstream in(in_repository(file));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

std::string quoted(std::string_view list) {
  std::string out;
  for (const std::string& word : words(list)) out += (out.empty() ? "`" : ", `") + word + '`';
  return out.empty() ? "–" : out;
}

std::string_view name_of(FamilyUse use) {
  switch (use) {
    case FamilyUse::kAlways: return "always";
    case FamilyUse::kByDefault: return "by default";
    case FamilyUse::kOnRequest: return "on request";
  }
  return {};
}

/// For bindings/c/generate_fields.py.
std::string golden() {
  std::string out;
  for (const FamilyInfo& info : kFamilies)
    out += fmt::format("{} {} {}\n", static_cast<unsigned>(info.family), info.name, info.brings);
  return out;
}

constexpr std::string_view kTableHead =
    "| family | loaded | what it brings | what the kernel must have | losses | options of it alone |\n"
    "|---|---|---|---|---|---|\n";

std::string table() {
  std::string out(kTableHead);
  for (const FamilyInfo& info : kFamilies)
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", info.name, name_of(info.use), info.brings, info.needs,
                       quoted(info.losses), quoted(info.options));
  return out;
}

/// `page` with the table as it is now.
std::string filled(const std::string& page) {
  const std::size_t begin = page.find("| family |");
  REQUIRE(begin != std::string::npos);
  const std::size_t end = page.find("\n\n", begin);
  REQUIRE(end != std::string::npos);
  return page.substr(0, begin) + table() + page.substr(end + 1);
}

}  // namespace

TEST_CASE("families keep their numbers and names; a new one is added to the golden file, and to the page of families") {
  const std::string page = text_of("docs/families.md");
  if (std::getenv("TRACER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(in_repository("tests/data/families.golden")) << golden();
    std::ofstream(in_repository("docs/families.md")) << filled(page);
  }
  CHECK(text_of("tests/data/families.golden") == golden());
  const std::string now = text_of("docs/families.md");
  CHECK(now == filled(now));
}

TEST_CASE("a family is known by its name, and the lifecycle can't be chosen") {
  std::set<std::string_view> names;
  for (const FamilyInfo& info : kFamilies) {
    CAPTURE(info.name);
    CHECK(names.insert(info.name).second);
    CHECK(to_string(info.family) == info.name);
    CHECK(family_from_name(info.name) == info.family);
    CHECK_FALSE(info.brings.empty());
    CHECK_FALSE(info.needs.empty());
  }
  for (const char* other : {"", "Waits", "wait", "waits ", "everything"}) CHECK_FALSE(family_from_name(other));
  CHECK(to_string(static_cast<Family>(kFamilies.size())).empty());
  CHECK(info_of(Family::kLifecycle).use == FamilyUse::kAlways);
  for (const Family family : default_families()) {
    CHECK(info_of(family).use == FamilyUse::kByDefault);
    CHECK(names_of_families().find(to_string(family)) != std::string::npos);
  }
  CHECK(SessionOptions().families == default_families());
  CHECK(names_of_families().find("lifecycle") == std::string::npos);
}

TEST_CASE("each loss and each option of a family is documented, and belongs to one family") {
  const std::string losses = text_of("docs/losses.md");
  const std::string options = text_of("include/tracer/session.hpp");
  std::set<std::string> seen;
  for (const FamilyInfo& info : kFamilies) {
    for (const std::string& loss : words(info.losses)) {
      CAPTURE(loss);
      CHECK(seen.insert(loss).second);
      CHECK(losses.find("| `" + loss + "` |") != std::string::npos);
    }
    for (const std::string& option : words(info.options)) {
      CAPTURE(option);
      CHECK(seen.insert(option).second);
      CHECK(options.find(' ' + option) != std::string::npos);
    }
  }
}
