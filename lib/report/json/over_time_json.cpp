// SPDX-License-Identifier: Apache-2.0
#include "report/json/over_time_json.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "report/json_builder.hpp"

namespace tracer::internal {
namespace {

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

std::string to_json(const ResourcesOverTime& sums, const HostInfo& host) {
  std::string text;
  JsonBuilder json(text);
  json.object([&] {
    json.put("start_unix_ns", sums.begin_ns + host.wall_offset_ns);
    json.put("part_ns", sums.part_ns);
    json.put("parts", sums.parts);
    json.list("series", sums.rows, [&](const Series& row) { put_series(json, row, host.host_name); });
  });
  return text;
}

}  // namespace tracer::internal
