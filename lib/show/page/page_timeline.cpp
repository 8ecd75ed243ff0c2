// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "show/figures.hpp"
#include "show/page/page_sections.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

/// In thousandths; what is there can be seen.
unsigned height_of(std::uint64_t value, std::uint64_t scale) {
  if (value == 0 || scale == 0) return 0;
  return std::max(20u, thousandths(static_cast<double>(value) / static_cast<double>(scale)));
}

std::string cpus_text(double most) {
  if (most < 0.01) return "< 0.01 CPUs";
  return most < 10 ? fmt::format("max {:.2f} CPUs", most) : fmt::format("max {:.0f} CPUs", most);
}

void write_over_time(JsonBuilder& json, const char* name, const std::vector<Series>& series, std::uint64_t part_ns) {
  const auto most_of = [](const std::vector<std::uint64_t>& values) {
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  };
  // One scale for all: what is twice as high is twice as much.
  std::uint64_t cpu_scale = 0;
  std::uint64_t memory_scale = 0;
  for (const Series& each : series) {
    cpu_scale = std::max(cpu_scale, most_of(each.cpu_ns));
    memory_scale = std::max(memory_scale, most_of(each.memory_bytes));
  }
  json.list(name, series, [&](const Series& each) {
    const std::uint64_t most_cpu = most_of(each.cpu_ns);
    const std::uint64_t most_memory = most_of(each.memory_bytes);
    json.object([&] {
      json.put("name", each.name.empty() ? std::string("all others") : visible(each.name, kMostNameLength));
      json.list("cpu", each.cpu_ns, [&](std::uint64_t value) { json.put_value(height_of(value, cpu_scale)); });
      json.list("lived", each.lived_ns, [&](std::uint64_t value) { json.put_value(value > 0 ? 1 : 0); });
      json.list("memory", each.memory_bytes,
                [&](std::uint64_t value) { json.put_value(height_of(value, memory_scale)); });
      json.put("cpu_text", most_cpu == 0 ? std::string(kUnknownFigure)
                                         : cpus_text(static_cast<double>(most_cpu) / static_cast<double>(part_ns)));
      json.put("memory_text",
               most_memory == 0 ? std::string(kUnknownFigure) : fmt::format("max {}", format_bytes(most_memory)));
    });
  });
}

std::uint64_t whole_ns(double ns) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return ns >= static_cast<double>(kMost) ? kMost : static_cast<std::uint64_t>(std::nearbyint(ns));
}

}  // namespace

void write_timeline(JsonBuilder& json, const DetailedReport& detailed) {
  const auto length = static_cast<double>(detailed.part_ns) * static_cast<double>(detailed.parts);
  const std::vector<double> shares = length > 0 ? std::vector<double>{0, 0.25, 0.5, 0.75, 1} : std::vector<double>{};
  json.object("timeline", [&] {
    json.put("parts", detailed.parts);
    json.list("ticks", shares, [&](double share) {
      json.put_items(share, share == 0 ? std::string("0") : format_duration(whole_ns(length * share)));
    });
    write_over_time(json, "tools", detailed.tools_over_time, detailed.part_ns);
    write_over_time(json, "tasks", detailed.tasks_over_time, detailed.part_ns);
    json.put("note", fmt::format("All rows have one scale; the maximum of each is on the right. One bar is {}. CPU is "
                                 "spread evenly between two samples of a process. Memory is sampled; processes too "
                                 "short to be sampled show their own peak. Gray: running, but idle.",
                                 format_duration(detailed.part_ns)));
  });
}

}  // namespace tracer::internal
