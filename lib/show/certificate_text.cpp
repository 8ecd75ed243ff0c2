// SPDX-License-Identifier: Apache-2.0
#include "show/certificate_text.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "show/figures.hpp"

namespace tracer::internal {
namespace {

/// Empty: this session itself has.
std::string_view seen_by(Tier tier) noexcept {
  switch (tier) {
    case Tier::kService: return "by the service";
    case Tier::kProc: return "in /proc";
    default: return {};
  }
}

/// A gap without its number, which may stand for one that is not known.
std::string loss_text(std::string_view cause, std::uint64_t count) {
  if (cause == "service_gap") return "events of the service are missing";
  return cause == "unrecorded" ? "some events could not be recorded" : fmt::format("{}: {}", cause, count);
}

}  // namespace

std::vector<MissingFamilies> missing_families(const Completeness& certificate) {
  std::vector<MissingFamilies> all;
  std::vector<bool> active;
  for (const FamilyState& state : certificate.missing) {
    const std::string_view what = state.problem ? std::string_view(state.problem->what) : std::string_view();
    std::size_t at = 0;
    while (at < all.size() &&
           (active[at] != state.active || (all[at].problem ? all[at].problem->what : std::string()) != what))
      ++at;
    if (at < all.size()) {
      all[at].names += fmt::format(", {}", to_string(state.family));
      continue;
    }
    all.push_back({fmt::format("{} {}", state.active ? "not all of" : "without", to_string(state.family)),
                   state.problem ? &*state.problem : nullptr});
    active.push_back(state.active);
  }
  return all;
}

std::vector<std::string> unknown_of(const Report& report) {
  std::vector<std::string> unknown;
  for (const MissingFamilies& each : missing_families(report.completeness))
    unknown.push_back(fmt::format("{}: {}", each.names, each.problem ? each.problem->what : ""));
  const ReportRow& total = report.total;
  const auto add = [&](const char* what, const std::optional<Figure>& figure) {
    if (!figure) {
      if (total.processes != 0) unknown.push_back(fmt::format("{}: of no process", what));
    } else if (figure->bound == Bound::kAtLeast) {
      unknown.push_back(fmt::format("{}: of some processes, or not all the time; the total is a lower bound", what));
    } else if (figure->bound == Bound::kAtMost) {
      unknown.push_back(fmt::format("{}: the exact figure; the total is an upper bound", what));
    }
  };
  add("CPU time", total.cpu_ns);
  add("memory", total.memory_bytes);
  add("what was read", total.read_bytes);
  add("what was written", total.written_bytes);
  if (total.processes != 0 && total.time.empty()) unknown.emplace_back("where time went");
  if (!report.survivors.empty())
    unknown.push_back(fmt::format("{} still running: only what they did until their last sample is counted",
                                  format_count(report.survivors.size(), "process is", "processes are")));
  return unknown;
}

std::string seen_text(const Completeness& certificate) {
  std::string text;
  if (certificate.missed_at_most) {
    const std::uint64_t missed = *certificate.missed_at_most;
    text =
        "polled: " +
        (missed == 0 ? "no process was missed, but"
                     : fmt::format("at most {} missed, and", format_count(missed, "process was", "processes were"))) +
        " figures are lower bounds";
  } else {
    text = certificate.ended
               ? fmt::format("{} of {} ended processes seen", certificate.exits_seen, *certificate.ended)
               : fmt::format("{} seen", format_count(certificate.exits_seen, "ended process", "ended processes"));
    if (const std::string_view by = seen_by(certificate.tier); !by.empty()) text += fmt::format(", {}", by);
    if (!certificate.ended) text += "; how many ended is not known";
  }
  if (certificate.complete) return text + ", nothing lost";
  for (const auto& [cause, count] : certificate.losses) text += "; " + loss_text(cause, count);
  return text;
}

std::vector<std::string> lines_of(const RecordingDamage& damage) {
  std::vector<std::string> lines;
  if (damage.skipped_bytes != 0)
    lines.push_back(fmt::format("{} damaged or cut off; everything else was read",
                                format_count(damage.skipped_bytes, "byte is", "bytes are")));
  if (damage.skipped_events != 0)
    lines.push_back(
        fmt::format("{} left out: of kinds that only a newer libtracer knows, or larger than their bytes may hold",
                    format_count(damage.skipped_events, "event is", "events are")));
  if (damage.missing_frames != 0)
    lines.push_back(fmt::format("{} missing (write error, or the file was damaged)",
                                format_count(damage.missing_frames, "frame is", "frames are")));
  if (damage.read_error != 0) {
    lines.push_back(fmt::format("reading failed before the end: {}", ::strerrordesc_np(damage.read_error)));
  } else if (damage.truncated) {
    lines.emplace_back("the recording has no end: it is still being written, or was cut short");
  }
  return lines;
}

}  // namespace tracer::internal
