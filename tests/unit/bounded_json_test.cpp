// SPDX-License-Identifier: Apache-2.0
#include "base/bounded_json.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace tracer::internal;

namespace {

constexpr JsonBounds kWide{.most_depth = 100, .most_values = 100'000};

JsonFault fault_of(std::string_view text, const JsonBounds& bounds) { return bounded_json(text, bounds).fault; }

}  // namespace

TEST_CASE("what is within the bounds is read as the library reads it") {
  for (const char* text : {"null",
                           "true",
                           "-1",
                           "18446744073709551615",
                           "1.5e3",
                           R"("a\u00e9\n")",
                           "[]",
                           "{}",
                           "[[],[{}],1]",
                           R"({"a":{"b":[1,{"c":"d"}],"e":null},"f":-0.5})",
                           R"({"a":1,"a":{"b":[2]},"":[]})",
                           R"({"a\u0000b":"\u0000"})",
                           "",
                           "{",
                           "[1,",
                           R"({"a")",
                           R"({"a":})",
                           "[1]]",
                           "nul",
                           "1e999",
                           "\"\xff\"",
                           R"({"a":1,})"}) {
    CAPTURE(text);
    const nlohmann::json right = nlohmann::json::parse(text, nullptr, false);
    const BoundedJson read = bounded_json(text, kWide);
    CHECK(read.json.is_discarded() == right.is_discarded());
    // What is discarded equals nothing.
    if (!right.is_discarded()) CHECK(read.json == right);
    CHECK((read.fault == JsonFault::kMalformed) == right.is_discarded());
  }
  CHECK(bounded_json(R"({"a":x})", kWide).byte == 6);
}

TEST_CASE("a text beyond a bound is refused at the first place where it is") {
  CHECK(fault_of("[[1]]", {.most_depth = 2, .most_values = 3}) == JsonFault::kNone);
  CHECK(fault_of("[[1]]", {.most_depth = 1, .most_values = 3}) == JsonFault::kTooDeep);
  CHECK(fault_of("1", {.most_depth = 0, .most_values = 1}) == JsonFault::kNone);
  CHECK(fault_of("{}", {.most_depth = 0, .most_values = 1}) == JsonFault::kTooDeep);
  CHECK(fault_of("[1,2]", {.most_depth = 1, .most_values = 2}) == JsonFault::kTooMany);
  CHECK(fault_of(R"({"a":1,"a":2})", {.most_depth = 1, .most_values = 2}) == JsonFault::kTooMany);
  const JsonBounds no_nul{.most_depth = 1, .most_values = 2, .nul = false};
  CHECK(fault_of(R"({"a\u0000":1})", no_nul) == JsonFault::kNul);
  CHECK(fault_of(R"(["a\u0000"])", no_nul) == JsonFault::kNul);
  CHECK(fault_of(R"(["a"])", no_nul) == JsonFault::kNone);
  // What follows is not read.
  CHECK(fault_of("[[[x", {.most_depth = 2, .most_values = 9}) == JsonFault::kTooDeep);
  CHECK(fault_of(std::string(1u << 20, '['), kWide) == JsonFault::kTooDeep);
}
