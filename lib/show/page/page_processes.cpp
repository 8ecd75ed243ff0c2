// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/words.hpp"
#include "report/time_shares.hpp"
#include "show/differing_words.hpp"
#include "show/figures.hpp"
#include "show/page/page_sections.hpp"
#include "show/time_bar.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

std::string status_of(const ListedProcess& process) {
  if (process.living) return "running";
  if (process.exit_signal) return fmt::format("signal {}", *process.exit_signal);
  return process.exit_code ? fmt::format("status {}", *process.exit_code) : kUnknownFigure;
}

/// Of each command the words that not all of its tool have.
std::vector<std::string> differing_texts(const std::vector<ListedProcess>& processes) {
  std::vector<ToolWords> commands;
  for (const ListedProcess& each : processes) {
    const auto words = words_of(each.command);
    commands.push_back({each.tool, {words.begin(), words.end()}});
  }
  return differing_words(commands);
}

}  // namespace

void write_processes(JsonBuilder& json, const DetailedReport& detailed) {
  const std::vector<ListedProcess>& listed = detailed.processes;
  const std::vector<std::string> differing = differing_texts(listed);
  std::vector<PageColumn> columns;
  const auto add = [&](PageColumnLook look, auto fill) {
    PageColumn column(std::move(look));
    for (std::size_t i = 0; i < listed.size(); ++i) fill(column, listed[i], i);
    columns.push_back(std::move(column));
  };
  const auto add_text = [&](PageColumnLook look, auto text) {
    add(std::move(look), [&](PageColumn& column, const ListedProcess& one, std::size_t i) {
      column.add(visible(text(one, i), kMostNameLength));
    });
  };
  const auto add_time = [&](const char* title, unsigned px, auto time_ns) {
    add(fixed_column(title, "number", px), [&](PageColumn& column, const ListedProcess& one, std::size_t) {
      const std::optional<std::uint64_t> ns = time_ns(one);
      column.add(ns ? format_duration(*ns) : kUnknownFigure,
                 ns ? std::optional(static_cast<double>(*ns)) : std::nullopt);
    });
  };
  const auto add_bytes = [&](const char* title, std::optional<Figure> ListedProcess::*figure) {
    add(fixed_column(title, "number", 84), [&](PageColumn& column, const ListedProcess& one, std::size_t) {
      column.add(format_figure(one.*figure, format_bytes),
                 one.*figure ? std::optional(static_cast<double>((one.*figure)->value)) : std::nullopt);
    });
  };
  add_text(growing_column("tool", "name", 110, "1", true), [](const auto& one, auto) { return one.tool; });
  add(fixed_column("pid", "number", 70, true), [](PageColumn& column, const ListedProcess& one, std::size_t) {
    column.add(std::to_string(one.pid), static_cast<double>(one.pid));
  });
  const auto drop_empty = [&] {
    if (columns.back().says_nothing()) columns.pop_back();
  };
  add_text(growing_column("differs by", "text", 160, "1.6", true),
           [&](const auto&, std::size_t i) { return differing[i]; });
  drop_empty();
  add_text(growing_column("task", "text", 80, "1", true), [](const auto& one, auto) { return one.task; });
  drop_empty();
  add_text(fixed_column("status", "text", 86, true, true), [](const auto& one, auto) { return status_of(one); });
  add_time("began", 78, [&](const ListedProcess& one) {
    return std::optional(one.start_ns - std::min(one.start_ns, detailed.first_ns));
  });
  add_time("wall", 74,
           [](const ListedProcess& one) { return std::optional(one.end_ns - std::min(one.start_ns, one.end_ns)); });
  add_time("CPU", 74, [](const ListedProcess& one) { return one.cpu_ns; });
  add(growing_column("where time went", "where", 240, "1.5"),
      [](PageColumn& column, const ListedProcess& one, std::size_t) {
        const std::vector<TimeShare> time = time_shares(one.process_ledger, one.ledger);
        column.add(main_causes(time, 2), parts_of(time));
      });
  add_bytes("memory", &ListedProcess::peak_bytes);
  add_bytes("read", &ListedProcess::read_bytes);
  add_bytes("written", &ListedProcess::written_bytes);
  add_text(growing_column("command", "text", 200, "2", true), [](const auto& one, auto) { return one.command; });
  const std::uint64_t all = detailed.report.completeness.exits_seen + detailed.report.survivors.size();
  json.object([&] {
    json.put("name", std::string_view("processes"));
    json.put("title", std::string_view("processes"));
    json.put("rows", listed.size());
    json.put("width", width_of_all(columns));
    json.put("name_px", 110);
    json.put("note", listed.size() >= all
                         ? std::string()
                         : fmt::format("The {} of {} processes that consumed most CPU.", listed.size(), all));
    write_columns(json, columns);
    json.list("failed", listed, [&](const ListedProcess& one) { json.put_value(one.failed ? 1 : 0); });
  });
}

}  // namespace tracer::internal
