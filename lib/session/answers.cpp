// SPDX-License-Identifier: Apache-2.0
#include <tracer/answers.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <tracer/recording.hpp>

#include "insight/recorded_events.hpp"
#include "report/json_builder.hpp"
#include "report/subjects.hpp"
#include "report/sums/over_time.hpp"

namespace tracer {
namespace {

using internal::JsonBuilder;
using internal::Series;
using internal::SeriesValues;

constexpr std::pair<const char*, SeriesValues> kLists[] = {
    {"cpu_ns", &Series::cpu_ns},
    {"memory_bytes", &Series::memory_bytes},
    {"read_bytes", &Series::read_bytes},
    {"written_bytes", &Series::written_bytes},
    {"received_bytes", &Series::received_bytes},
    {"sent_bytes", &Series::sent_bytes},
    {"io_wait_ns", &Series::io_wait_ns},
    {"tasks", &Series::tasks},
};

void put_series(JsonBuilder& json, const Series& row, const std::string& host) {
  json.object([&] {
    if (!row.name.empty()) json.put("step", row.name);
    json.put("host", host);
    for (const auto& [name, kind] : kLists) {
      const auto& values = row.*kind;
      // A process holds some memory: 0 is not known.
      const bool is_known = kind == &Series::memory_bytes ? std::any_of(values.begin(), values.end(),
                                                                        [](std::uint64_t value) { return value != 0; })
                                                          : !values.empty();
      if (is_known) json.list(name, values, [&](std::uint64_t value) { json.put_value(value); });
    }
  });
}

}  // namespace

std::optional<std::string> why_json(RecordingReader& reader, std::string_view asked) {
  internal::Subjects subjects(asked);
  internal::RecordedEvents events(reader);
  while (const auto event = events.next()) subjects.add(*event);
  subjects.finish();
  if (asked.empty()) return internal::to_json(subjects);
  const auto found = subjects.find(asked);
  if (found.size() != 1) return std::nullopt;
  return internal::to_json(subjects, found.front());
}

std::optional<std::string> over_time_json(RecordingReader& reader, Key key) {
  internal::OverTime over_time(key);
  internal::RecordedEvents events(reader);
  while (const auto event = events.next()) over_time.add(*event);
  const std::vector<Series> rows = over_time.rows();
  if (rows.empty()) return std::nullopt;
  std::string text;
  JsonBuilder json(text);
  json.object([&] {
    json.put("start_unix_ns", over_time.begin_ns() + reader.host().wall_offset_ns);
    json.put("part_ns", over_time.part_ns());
    json.put("parts", over_time.parts());
    json.list("series", rows, [&](const Series& row) { put_series(json, row, reader.host().host_name); });
  });
  return text;
}

}  // namespace tracer
