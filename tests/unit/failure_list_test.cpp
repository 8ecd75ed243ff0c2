// SPDX-License-Identifier: Apache-2.0
/// The list of failures below the table.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "show/report_text.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

Failure failure_of(std::uint32_t pid, std::int32_t status) {
  Failure failure;
  failure.process = build::process({.pid = pid, .argv = std::vector<std::string>{"cp", "a", "b"}, .tool = "cp"});
  failure.exit_code = status;
  return failure;
}

}  // namespace

TEST_CASE("subshells have the name of their shell, and are named with it once") {
  Report report;
  report.completeness.rows_are_whole = true;
  report.failures_seen = 1;
  Failure failure = failure_of(7, 3);
  for (const char* name : {"configure", "configure", "configure", "make", "configure"})
    failure.passed_on_by.push_back(build::process({.tool = name}));
  report.failures.push_back(failure);
  CHECK(format_notes(report, std::nullopt).failures ==
        "\n1 failed:\n  cp  status 3  pid 7  cp a b\n    passed on by configure (3 processes), make, configure\n");
}

TEST_CASE("a long list is cut, and the rest of it counted") {
  Report report;
  report.failures_seen = 60;
  for (std::int32_t i = 1; i <= 25; ++i) {
    report.failures.push_back(failure_of(static_cast<std::uint32_t>(i), i));
    report.failures.back().count = 2;
  }
  const std::string text = format_notes(report, std::nullopt).failures;
  CHECK(text.find("status 20 ") != std::string::npos);
  CHECK(text.find("status 21 ") == std::string::npos);
  CHECK(text.find(" and 20 more: --by tool counts all\n") != std::string::npos);
  CHECK(to_json(report).find("\"exit_code\":25") != std::string::npos);
}
