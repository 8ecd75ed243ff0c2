// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "report/json_builder.hpp"
#include "report/time_shares.hpp"
#include "show/certificate_text.hpp"
#include "show/page/page.hpp"
#include "show/page/page_sections.hpp"
#include "show/report_text.hpp"
#include "show/row_texts.hpp"
#include "show/time_bar.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostVerdict = 1000;

std::vector<std::string> facts_of(const DetailedReport& detailed) {
  const HostInfo& host = detailed.host;
  std::vector<std::string> facts;
  if (detailed.first_ns != 0) {
    constexpr std::time_t kLatest = 200'000'000'000;
    const auto began =
        std::min(static_cast<std::time_t>(
                     (static_cast<double>(detailed.first_ns) + static_cast<double>(host.wall_offset_ns)) / 1e9),
                 kLatest);
    std::tm utc{};
    ::gmtime_r(&began, &utc);
    facts.push_back(fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", utc));
    facts.push_back(format_duration(detailed.last_ns - std::min(detailed.last_ns, detailed.first_ns)) + " traced");
  }
  if (!host.host_name.empty()) facts.push_back(host.host_name);
  if (!host.kernel_release.empty())
    facts.push_back(
        fmt::format("Linux {}{}{}", host.kernel_release, host.architecture.empty() ? "" : " ", host.architecture));
  if (host.cpu_count != 0) facts.push_back(fmt::format("{} CPUs, {}", host.cpu_count, format_bytes(host.memory_bytes)));
  if (!host.tracer_version.empty()) facts.push_back("libtracer " + host.tracer_version);
  for (std::string& fact : facts) fact = visible(fact, kMostNameLength);
  return facts;
}

void write_verdict(JsonBuilder& json, const Completeness& certificate) {
  std::string text = visible(seen_text(certificate), kMostVerdict);
  if (text.starts_with("polled")) text.front() = 'P';
  json.object("verdict", [&] {
    json.put("good", certificate.complete);
    json.put("word", std::string_view(certificate.complete ? "Complete." : "Not complete."));
    json.put("text", text + ".");
  });
}

/// What a process waits for a child, the child does beside.
void write_time(JsonBuilder& json, const std::vector<TimeShare>& all) {
  std::vector<TimeShare> time = all;
  std::erase_if(time, [](const TimeShare& each) { return each.cause == TimeCause::kChild; });
  double whole = 0;
  for (const TimeShare& each : time) whole += each.share;
  json.list("time", time, [&](const TimeShare& each) {
    json.put_items(color_of(each.cause), std::max(1u, thousandths(each.share / whole)),
                   fmt::format("{} {}, {}", to_string(each.cause), format_share(each.share / whole),
                               format_duration(each.time_ns)));
  });
}

void write_tiles(JsonBuilder& json, const ReportRow& total) {
  std::map<std::string, std::string> texts;
  each_row_figure([&](const auto& figure) { texts[figure.name] = cell_text(total, figure); });
  if (texts["failed"].empty()) texts["failed"] = "0";
  if (total.processes == 0) texts["processes"] = "0";
  constexpr std::pair<const char*, const char*> kTiles[] = {{"wall", "wall_ns"},
                                                            {"failed", "failed"},
                                                            {"memory", "memory_bytes"},
                                                            {"CPU", "cpu_ns"},
                                                            {"CPU / wall", "cpu_utilization"},
                                                            {"processes", "processes"},
                                                            {"read", "read_bytes"},
                                                            {"written", "written_bytes"}};
  json.list("tiles", kTiles, [&](const auto& tile) { json.put_items(std::string(tile.first), texts[tile.second]); });
}

}  // namespace

std::string page_data(const DetailedReport& detailed, const std::string& title) {
  const Report& report = detailed.report;
  const ReportNotes notes = format_notes(report, std::nullopt);
  std::string out;
  JsonBuilder json(out);
  json.object([&] {
    json.put("title", visible(title, kMostNameLength));
    json.texts("facts", facts_of(detailed));
    if (!report.verdict.empty()) json.put("result", visible(report.verdict, kMostVerdict));
    write_verdict(json, report.completeness);
    write_findings(json, report);
    write_tiles(json, report.total);
    write_time(json, report.total.time);
    const std::vector<PageTable> tables = tables_of(report);
    std::vector<const PageTable*> all;
    for (const PageTable& table : tables) all.push_back(&table);
    if (!detailed.processes.empty()) all.push_back(nullptr);
    json.list("tables", all, [&](const PageTable* table) {
      if (table == nullptr) return write_processes(json, detailed);
      write_table(json, *table);
    });
    write_timeline(json, detailed);
    write_parts(json, report, notes);
    write_certificate(json, detailed, notes);
  });
  return out;
}

}  // namespace tracer::internal
