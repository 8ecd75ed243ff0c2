// SPDX-License-Identifier: Apache-2.0
#include "files/recordings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <tracer/error.hpp>

#include "process/descriptor_limit.hpp"
#include "files/past.hpp"
#include "show/certificate_text.hpp"
#include "show/printable.hpp"
#include "base/process_id.hpp"
#include "base/quantities.hpp"
#include "insight/recorded_events.hpp"
#include "stream/recording_series.hpp"
#include "stream/started_once.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::printable;

namespace {

using tracer::internal::RecordingAccess;
using tracer::internal::RecordingPart;
using tracer::internal::RecordingSeries;

std::vector<RecordingPart> parts_of(const std::vector<std::string>& files) {
  // Once the rights of root are given up, none can be opened again.
  raise_descriptor_limit();
  std::vector<std::filesystem::path> named;
  for (const std::string& file : files)
    if (file != "-") named.emplace_back(file);
  std::vector<RecordingPart> parts = tracer::internal::open_parts(named);
  for (std::size_t i = named.size(); i < files.size(); ++i)
    parts.emplace_back(
        std::make_unique<tracer::internal::RecordingFile>(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "standard input"));
  return parts;
}

/// "12:03:04"
std::string time_of_day(const tracer::HostInfo& host, std::uint64_t boot_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return fmt::format("{:%H:%M:%S}",
                     fmt::localtime(static_cast<std::time_t>((boot_ns + host.wall_offset_ns) / kSecond)));
}

void report_missing(const RecordingPart& part) {
  if (part.missing_before == 0 && !part.cut_before) return;
  const std::string what =
      part.missing_before == 0
          ? "the end of the file before it is"
          : tracer::internal::format_count(part.missing_before, "file before it is", "files before it are");
  const std::string since =
      part.missing_from_ns == 0 ? "" : fmt::format("from {} ", time_of_day(part.host, part.missing_from_ns));
  say("tracerd: {}: {} missing, {}until {}\n", printable(part.name), what, since,
      time_of_day(part.host, part.begin_ns));
}

void report_damage(const RecordingSeries& series) {
  for (std::size_t at = 0; at < series.parts().size(); ++at) {
    const RecordingPart& part = series.parts()[at];
    report_missing(part);
    if (part.repeated) say("tracerd: {}: another has the same: it counts once\n", printable(part.name));
    for (const std::string& line : tracer::internal::lines_of(series.damage_of(at)))
      say("tracerd: {}: {}\n", printable(part.name), line);
  }
}

}  // namespace

std::vector<tracer::RecordingReader> open_recordings(const std::vector<std::string>& files) {
  std::vector<tracer::RecordingReader> readers;
  if (files.empty()) readers.push_back(latest_run());
  for (RecordingSeries& series : tracer::internal::series_of(parts_of(files)))
    readers.push_back(RecordingAccess::reader(std::move(series)));
  return readers;
}

tracer::RecordingReader open_recording(const std::vector<std::string>& files) {
  if (files.empty()) return latest_run();
  return RecordingAccess::reader(tracer::internal::only_series_of(parts_of(files)));
}

std::string title_of(std::vector<tracer::RecordingReader>& recordings) {
  std::string title;
  for (tracer::RecordingReader& reader : recordings) {
    const auto& parts = RecordingAccess::series(reader)->parts();
    title += fmt::format("{}{}", title.empty() ? "" : ", ", parts.front().name);
    if (parts.size() > 1) title += fmt::format(" … {} ({} files)", parts.back().name, parts.size());
    title += fmt::format(" on {}", reader.host().host_name);
  }
  return title;
}

namespace {

using tracer::Event;
using tracer::internal::StartedOnce;

/// By their hosts, in the order in which these are named; those of one boot in the order of time.
std::vector<std::size_t> order_of(std::vector<tracer::RecordingReader>& recordings) {
  std::map<std::string, std::size_t> boots;
  std::vector<std::pair<std::pair<std::size_t, std::uint64_t>, std::size_t>> places;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const RecordingPart& part = RecordingAccess::series(recordings[i])->parts().front();
    const std::size_t boot = boots.try_emplace(part.host.boot_id, i).first->second;
    places.push_back({{boot, part.begin_ns}, i});
  }
  std::sort(places.begin(), places.end());
  std::vector<std::size_t> order;
  for (const auto& [place, i] : places) order.push_back(i);
  return order;
}

/// What lived before, as a session begins with it.
std::vector<Event> beginning_of(tracer::internal::RecordedEvents& events) {
  constexpr std::size_t kMost = 65536;
  std::vector<Event> first;
  while (first.size() < kMost) {
    auto event = events.next();
    if (!event) break;
    first.push_back(std::move(*event));
    using enum tracer::EventKind;
    const auto kind = first.back().kind();
    if (kind != kProcessStart && kind != kRunStart && kind != kTaskStart && kind != kTaskSubmit) break;
  }
  return first;
}

/// When it began, where it has processes that lived before; absent: it has none.
std::optional<std::uint64_t> goes_on_since(const std::vector<Event>& first, const StartedOnce& before) {
  for (const Event& event : first)
    if (const auto* start = event.get_if<tracer::ProcessStart>(); start != nullptr && start->attached_ns)
      if (before.lives(tracer::internal::id_of(*start->process))) return start->attached_ns;
  return std::nullopt;
}

Event gap_between(std::uint64_t from_ns, std::uint64_t until_ns) {
  tracer::Loss gap;
  gap.time_ns = until_ns;
  gap.cause = "service_gap";
  // How many events are missing, nobody has counted.
  gap.count = 1;
  gap.first_ns = std::min(from_ns, until_ns);
  gap.last_ns = until_ns;
  return gap;
}

void add(tracer::RecordingDamage& all, const tracer::RecordingDamage& more) {
  all.skipped_bytes += more.skipped_bytes;
  all.skipped_events += more.skipped_events;
  all.missing_frames += more.missing_frames;
  if (all.read_error == 0) all.read_error = more.read_error;
  all.truncated = all.truncated || more.truncated;
}

}  // namespace

void read_sessions(std::vector<tracer::RecordingReader>& recordings, const SessionVisitor& visitor) {
  StartedOnce started;
  tracer::RecordingDamage damage;
  std::optional<Event> end;
  const RecordingSeries* before = nullptr;
  const auto end_sessions = [&] {
    if (end) visitor.add(*end);
    if (before != nullptr) visitor.end(damage);
    end.reset();
    damage = {};
    started = {};
  };
  for (const std::size_t i : order_of(recordings)) {
    const RecordingSeries& series = *RecordingAccess::series(recordings[i]);
    tracer::internal::RecordedEvents events(recordings[i]);
    const std::vector<Event> first = beginning_of(events);
    const bool same_boot = before != nullptr && before->host().boot_id == series.host().boot_id;
    const auto since_ns = same_boot ? goes_on_since(first, started) : std::nullopt;
    if (since_ns) {
      end.reset();
      visitor.add(gap_between(before->closed_ns(), *since_ns));
      say("tracerd: {}: another session than {}, of the same host: nothing is known from {} until {}\n",
          printable(series.parts().front().name), printable(before->name()),
          time_of_day(series.host(), before->closed_ns()), time_of_day(series.host(), *since_ns));
    } else {
      end_sessions();
      visitor.begin(series.host());
    }
    const auto take = [&](const Event& event) {
      if (end) visitor.add(*std::exchange(end, {}));
      if (!started.take(event) && since_ns) return;
      if (event.kind() == tracer::EventKind::kSessionEnd) {
        end = event;
      } else {
        visitor.add(event);
      }
    };
    for (const Event& event : first) take(event);
    while (const auto event = events.next()) take(*event);
    add(damage, recordings[i].damage());
    before = &series;
  }
  end_sessions();
}

void report_damage(std::span<tracer::RecordingReader> recordings) {
  for (tracer::RecordingReader& reader : recordings) report_damage(*RecordingAccess::series(reader));
}

}  // namespace tracerd
