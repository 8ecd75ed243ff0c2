// SPDX-License-Identifier: Apache-2.0
// One text for each figure: the cases that the terminal view and the page run, too.
#include "show/figures.hpp"

#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "show/screen.hpp"

using namespace tracer;
using namespace tracer::internal;

TEST_CASE("figures: texts are those of tests/data/figures.json") {
  std::ifstream file("tests/data/figures.json");
  const nlohmann::json cases = nlohmann::json::parse(file).at("cases");
  CHECK(cases.size() > 80);
  const Utf8Scope utf8(true);
  for (const nlohmann::json& each : cases) {
    const auto kind = each.at("kind").get<std::string>();
    const nlohmann::json& value = each.at("value");
    std::string text;
    if (kind == "duration") text = format_duration(value.get<std::uint64_t>());
    if (kind == "bytes") text = format_bytes(value.get<std::uint64_t>());
    if (kind == "share") text = format_share(value.get<double>());
    // Of the rest, those of one number that C++ has alone.
    if (kind == "figure" && each.at("unit") == "ns") {
      const bool is_exact = value.contains("x");
      const Figure figure{value.at(is_exact ? "x" : "x_at_least").get<std::uint64_t>(),
                          is_exact ? Bound::kExact : Bound::kAtLeast};
      text = format_figure(figure, format_duration);
    }
    if (!text.empty()) CHECK_MESSAGE(text == each.at("text").get<std::string>(), each.dump());
  }
}
