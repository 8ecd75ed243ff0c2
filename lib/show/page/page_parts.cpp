// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/tool_name.hpp"
#include "report/sums/identities.hpp"
#include "show/certificate_text.hpp"
#include "show/figures.hpp"
#include "show/page/page_sections.hpp"
#include "show/process_names.hpp"
#include "show/report_text.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostCommandLength = 400;
constexpr std::size_t kMostShownSurvivors = 200;

std::string visible_lines(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return visible_in_lines(text);
}

std::string command_text(const Program& program) {
  return visible(joined_command(program).value_or(kUnknownFigure), kMostCommandLength);
}

std::string tool_text(const Program& program) {
  return visible(known_tool(program).value_or(kUnknownFigure), kMostNameLength);
}

/// A list with heads, or a text.
struct PagePart {
  std::string name;
  std::string title;
  std::vector<std::string> heads = {};
  std::vector<std::vector<std::string>> rows = {};
  std::size_t mono = 0;  ///< Which column is in letters of one width.
  std::string text = {};
};

PagePart failures_part(const Report& report) {
  PagePart part{"failures",
                fmt::format("{} failed", report.failures_seen),
                {"tool", "how", "then", "pid of the first", "times", "command"}};
  part.mono = 5;
  std::uint64_t shown = 0;
  for (const Failure& failure : report.failures) {
    const Process& process = *failure.process;
    std::string status = format_status(failure);
    if (failure.core_dumped && status.find("core") == std::string::npos) status += ", core dumped";
    part.rows.push_back({tool_text(*process.program), status, visible(format_outcome(failure), kMostNameLength),
                         std::to_string(process.pid), std::to_string(failure.count), command_text(*process.program)});
    shown += failure.count;
  }
  if (report.failures_seen > shown) part.text = fmt::format("… {} more", report.failures_seen - shown);
  return part;
}

PagePart survivors_part(const Report& report) {
  PagePart part{"survivors",
                fmt::format("{} still running", report.survivors.size()),
                {"tool", "pid", "so far", "CPU", "read", "written", "command"}};
  part.mono = 6;
  for (std::size_t i = 0; i < std::min(report.survivors.size(), kMostShownSurvivors); ++i) {
    const auto& [sample, begin_ns] = report.survivors[i];
    const Process& process = *sample.process;
    part.rows.push_back({tool_text(*process.program), std::to_string(process.pid),
                         format_duration(sample.time_ns - std::min(sample.time_ns, begin_ns)),
                         sample.account.cpu_ns ? format_duration(*sample.account.cpu_ns) : std::string(kUnknownFigure),
                         format_figure(bytes_read(sample.account), format_bytes),
                         format_figure(bytes_written(sample.account), format_bytes), command_text(*process.program)});
  }
  return part;
}

}  // namespace

void write_parts(JsonBuilder& json, const Report& report, const ReportNotes& notes) {
  std::vector<PagePart> parts;
  if (report.failures_seen != 0) parts.push_back(failures_part(report));
  if (!report.survivors.empty()) parts.push_back(survivors_part(report));
  const auto add_text = [&parts](const char* name, const char* title, const std::string& text) {
    if (text.empty()) return;
    PagePart part{name, title};
    part.text = visible_lines(text);
    parts.push_back(std::move(part));
  };
  add_text("paths", "Critical paths", notes.paths);
  add_text("pipelines", "Pipes", notes.pipelines);
  add_text("cgroups", "Memory of cgroups", notes.cgroups);
  add_text("touched", "Files, network, disks, GPUs", notes.touched);
  add_text("engines", "Engines", notes.engines);
  add_text("queue", "Submitted tasks", notes.queue);
  add_text("requested", "Requested and used", notes.requested);
  add_text("waste", "Waste", notes.waste);
  json.list("parts", parts, [&](const PagePart& part) {
    json.object([&] {
      json.put("name", part.name);
      json.put("title", part.title);
      if (!part.heads.empty()) {
        json.list("rows", part.rows, [&](const auto& row) { json.put_list(row); });
        json.put("mono", part.mono);
        json.texts("heads", part.heads);
      }
      if (!part.text.empty()) json.put("text", part.text);
    });
  });
}

void write_certificate(JsonBuilder& json, const DetailedReport& detailed, const ReportNotes& notes) {
  const Completeness& certificate = detailed.report.completeness;
  std::vector<std::string> losses;
  for (const auto& [cause, count] : certificate.losses) losses.push_back(fmt::format("{}: {}", cause, count));
  std::vector<std::string> families;
  for (const FamilyState& state : certificate.missing) {
    std::string text = fmt::format("{} {}", state.active ? "not all of" : "without", to_string(state.family));
    if (state.problem) {
      text += fmt::format(": {} [{}]", state.problem->what, to_string(state.problem->code));
      if (!state.problem->fix.empty()) text += ". Fix: " + state.problem->fix;
    }
    families.push_back(std::move(text));
  }
  const std::vector<std::pair<std::string, std::vector<std::string>>> lists = {
      {"Lost", losses},
      {"The recording", lines_of(certificate.damage)},
      {"What the kernel can't tell", unknown_of(detailed.report)},
      {"Not there", families}};
  json.object("certificate", [&] {
    json.put("text", visible_lines(notes.certificate));
    json.list("lists", lists, [&](const auto& list) {
      std::vector<std::string> shown;
      for (const std::string& line : list.second) shown.push_back(visible(line));
      json.put_items(list.first, shown);
    });
  });
}

}  // namespace tracer::internal
