// SPDX-License-Identifier: Apache-2.0
/// Frames that no writer writes: each number in them may be anything.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sample_events.hpp"
#include "stream/column_frame.hpp"
#include "stream/event_rows.hpp"
#include "stream_bytes.hpp"

using namespace tracer;
using namespace tracer::internal;
using stream_bytes::column;
using stream_bytes::Numbers;
using stream_bytes::Payload;

namespace {

constexpr auto kLossKind = static_cast<std::uint64_t>(EventKind::kLoss);
constexpr auto kStartKind = static_cast<std::uint64_t>(EventKind::kProcessStart);
constexpr auto kExitKind = static_cast<std::uint64_t>(EventKind::kProcessExit);

bool decodes(const Payload& payload) {
  ColumnFrame frame;
  return frame.decode(Bytes(payload));
}

std::vector<Event> events_of(const Payload& payload) {
  const Bytes bytes = payload;
  ColumnFrame frame;
  std::vector<Event> events;
  REQUIRE(frame.decode(bytes));
  EventRows rows;
  rows.open(frame);
  for (Event event = rows.next(); event.kind() != EventKind::kNone; event = rows.next()) events.push_back(event);
  return events;
}

/// Two losses, of which a test spoils something.
Payload two_losses() {
  return {.texts = {"a", "b"},
          .kinds = {{kLossKind, 2, {column({1}, {10, 20}), column({2}, {0, 1}), column({3}, {1, 2})}}}};
}

stream_bytes::Column with_presence(std::vector<std::uint8_t> path, std::uint64_t which, std::vector<unsigned> bits,
                                   const Numbers& values) {
  stream_bytes::Column made{std::move(path), {}};
  put_varint(made.body, which);
  for (const unsigned byte : bits) made.body.push_back(static_cast<std::byte>(byte));
  put_numbers(made.body, values);
  return made;
}

}  // namespace

TEST_CASE("columns become events, and a field without a column is as in an empty event") {
  const auto events = events_of(two_losses());
  REQUIRE(events.size() == 2);
  CHECK(to_json(events[0]) == to_json(sample_events::loss(10, "a", 1)));
  CHECK(to_json(events[1]) == to_json(sample_events::loss(20, "b", 2)));
  const auto starts = events_of({.kinds = {{kStartKind, 1, {column({2, 1}, {7})}}}});
  REQUIRE(starts.size() == 1);
  const auto& start = *starts[0].get_if<ProcessStart>();
  CHECK(start.process->pid == 7);
  CHECK(start.process->program == Process::unknown_program());
  CHECK_FALSE(start.attached_ns.has_value());
}

TEST_CASE("columns that are longer or shorter than their section are refused") {
  for (const std::size_t which : {0u, 1u, 2u}) {
    Payload longer = two_losses();
    longer.kinds[0].columns[which] = column({static_cast<std::uint8_t>(which + 1)}, {0, 1, 0});
    CHECK_FALSE(decodes(longer));
    Payload shorter = two_losses();
    shorter.kinds[0].columns[which].body.pop_back();
    CHECK_FALSE(decodes(shorter));
  }
  Payload rows = two_losses();
  rows.kinds[0].rows = 3;
  CHECK_FALSE(decodes(rows));
}

TEST_CASE("a number of a text or part that is not there is refused") {
  Payload text = two_losses();
  text.kinds[0].columns[1] = column({2}, {0, 2});
  CHECK_FALSE(decodes(text));
  const auto start = [](std::uint64_t program) {
    return Payload{.texts = {"exe"},
                   .parts = {{1, 2, {column({2}, {0, 0})}}},
                   .kinds = {{kStartKind, 1, {column({2, 8}, {program})}}}};
  };
  CHECK(decodes(start(1)));
  CHECK_FALSE(decodes(start(2)));
  CHECK_FALSE(decodes(start(UINT64_MAX)));
  Payload no_parts = start(0);
  no_parts.parts.clear();
  CHECK_FALSE(decodes(no_parts));
  Payload argv = start(0);
  argv.parts[0].columns.push_back(column({3}, {1, 1}, {0, 1}));
  CHECK_FALSE(decodes(argv));
}

TEST_CASE("numbers that do not fit their field are refused") {
  const auto exit = [](std::vector<std::uint8_t> path, std::uint64_t value) {
    return Payload{.kinds = {{kExitKind, 1, {column(std::move(path), {value})}}}};
  };
  CHECK(decodes(exit({2, 1}, 0xffffffff)));
  CHECK_FALSE(decodes(exit({2, 1}, 0x100000000)));
  CHECK(decodes(exit({7}, 1)));
  CHECK_FALSE(decodes(exit({7}, 2)));
  CHECK(decodes(exit({5}, 0xffffffff)));
  CHECK_FALSE(decodes(exit({5}, 0x100000000)));
  CHECK(events_of(exit({5}, 3))[0].get_if<ProcessExit>()->exit_code == -2);
  Payload by_kind = two_losses();
  by_kind.kinds[0].columns.push_back(column({6}, {0, 1}));
  by_kind.kinds[0].columns.push_back(column({6, 1}, {0xffff}));
  CHECK(decodes(by_kind));
  by_kind.kinds[0].columns.back() = column({6, 1}, {0x10000});
  CHECK_FALSE(decodes(by_kind));
}

TEST_CASE("presence is checked against its rows and values") {
  const auto loss = [](std::uint64_t which, std::vector<unsigned> bits, const Numbers& values) {
    Payload payload = two_losses();
    payload.kinds[0].columns.push_back(with_presence({4}, which, std::move(bits), values));
    return payload;
  };
  CHECK(decodes(loss(1, {0x2}, {5})));
  const auto events = events_of(loss(1, {0x2}, {5}));
  CHECK_FALSE(events[0].get_if<Loss>()->first_ns.has_value());
  CHECK(events[1].get_if<Loss>()->first_ns == 5);
  CHECK_FALSE(decodes(loss(1, {0x7}, {5, 6, 7})));  // a bit behind the last row
  CHECK_FALSE(decodes(loss(2, {0x2}, {5})));        // neither known nor the next
  CHECK_FALSE(decodes(loss(1, {}, {})));
  Payload shared = loss(1, {0x1}, {5});
  shared.kinds[0].columns.push_back(with_presence({5}, 1, {}, {9}));
  CHECK(events_of(shared)[0].get_if<Loss>()->last_ns == 9);
}

TEST_CASE("lists can't promise more than a frame may hold") {
  const auto lists = [](const Numbers& sizes, const Numbers& items) {
    Payload payload = two_losses();
    payload.kinds[0].columns.push_back(column({6}, sizes));
    payload.kinds[0].columns.push_back(column({6, 2}, items));
    return payload;
  };
  CHECK(events_of(lists({0, 2}, {8, 9}))[1].get_if<Loss>()->by_kind.size() == 2);
  CHECK_FALSE(decodes(lists({1, 2}, {8, 9})));
  CHECK_FALSE(decodes(lists({UINT64_MAX, 3}, {8, 9})));
  CHECK(decodes(lists({kMaxItems, 0}, Numbers(kMaxItems, 1))));
  CHECK_FALSE(decodes(lists({kMaxItems, 1}, Numbers(kMaxItems + 1, 1))));
  Payload child_first = lists({0, 2}, {8, 9});
  std::swap(child_first.kinds[0].columns[3], child_first.kinds[0].columns[4]);
  CHECK_FALSE(decodes(child_first));
}

TEST_CASE("texts that are referred to too often are a bomb") {
  const auto bomb = [](std::size_t rows) {
    return Payload{.texts = {std::string(1u << 10, 'x')},
                   .kinds = {{kLossKind, rows, {column({2}, Numbers(rows, 0))}}}};
  };
  CHECK(decodes(bomb(kMaxTextBytes >> 10)));
  CHECK_FALSE(decodes(bomb((kMaxTextBytes >> 10) + 1)));
  Payload both = bomb(kMaxTextBytes >> 10);
  both.parts = {{1, 1, {column({1}, {0})}}};
  CHECK_FALSE(decodes(both));
}

TEST_CASE("rows, sections and columns have their bounds") {
  const auto rows = [](std::uint64_t count) { return Payload{.kinds = {{kLossKind, count, {}}}}; };
  CHECK(decodes(rows(kMaxRows)));
  CHECK_FALSE(decodes(rows(kMaxRows + 1)));
  CHECK_FALSE(decodes(rows(UINT64_MAX)));
  CHECK_FALSE(decodes(rows(0)));
  CHECK_FALSE(decodes({.kinds = {{7777, UINT64_MAX, {}}}}));
  CHECK_FALSE(decodes({.kinds = {{kLossKind, kMaxRows, {}}, {7777, 1, {}}}, .order = {0}}));
  Payload twice = two_losses();
  twice.kinds[0].columns.push_back(twice.kinds[0].columns[0]);
  CHECK_FALSE(decodes(twice));
  CHECK_FALSE(decodes({.kinds = {{kLossKind, 1, {}}, {kLossKind, 1, {}}}, .order = {0, 1}}));
  CHECK_FALSE(decodes({.parts = {{1, 1, {}}, {1, 1, {}}}, .kinds = {{kLossKind, 1, {}}}}));
  Payload columns = two_losses();
  columns.kinds[0].columns.resize(kMaxColumns, column({200}, {1}));
  CHECK(decodes(columns));
  columns.kinds[0].columns.push_back(column({200}, {1}));
  CHECK_FALSE(decodes(columns));
  CHECK_FALSE(decodes({.kinds = {{kLossKind, 1, {column({1, 1, 1, 1, 1, 1, 1}, {1})}}}}));
  CHECK_FALSE(decodes({.kinds = {{kLossKind, 1, {column({}, {1})}}}}));
}

TEST_CASE("the order names each row once") {
  const auto ordered = [](std::vector<std::uint8_t> order) {
    return Payload{.kinds = {{kLossKind, 2, {column({1}, {1, 3})}}, {kStartKind, 1, {column({1}, {2})}}},
                   .order = std::move(order)};
  };
  const auto events = events_of(ordered({0, 1, 0}));
  REQUIRE(events.size() == 3);
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(events[i].time_ns() == i + 1);
  CHECK_FALSE(decodes(ordered({0, 0, 0})));
  CHECK_FALSE(decodes(ordered({0, 1})));
  CHECK_FALSE(decodes(ordered({0, 2, 0})));
}

TEST_CASE("kinds, parts and fields of a newer writer are passed over") {
  Payload payload = two_losses();
  payload.parts = {{9, 4, {column({1}, {1, 2, 3, 4})}}};
  payload.kinds[0].columns.insert(payload.kinds[0].columns.begin() + 1, column({99, 3}, {1, 2}));
  payload.kinds.push_back({777, 3, {column({1}, {1, 2, 3})}});
  payload.order = {1, 0, 1, 0, 1};
  const Bytes bytes = payload;
  ColumnFrame frame;
  REQUIRE(frame.decode(bytes));
  CHECK(frame.unknown_rows() == 3);
  const auto events = events_of(payload);
  REQUIRE(events.size() == 2);
  CHECK(to_json(events[1]) == to_json(sample_events::loss(20, "b", 2)));
}

TEST_CASE("a frame cut anywhere is refused, and the next one is read as if nothing was") {
  const Bytes whole = two_losses();
  ColumnFrame frame;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(frame.decode(std::span(whole).first(size)));
    CHECK(frame.rows() == 0);
  }
  CHECK(frame.decode(whole));
  CHECK(frame.rows() == 2);
}
