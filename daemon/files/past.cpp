// SPDX-License-Identifier: Apache-2.0
#include "files/past.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/tier.hpp>

#include "context/task_name.hpp"
#include "process/privileges.hpp"
#include "report/asked_work.hpp"
#include "show/printable.hpp"
#include "source/client/past_client.hpp"
#include "stream/recording_series.hpp"
#include "stream/run_copy.hpp"
#include "terminal/say.hpp"

namespace tracerd {
namespace {

using tracer::internal::OpenRecording;
using tracer::internal::PassedFile;
using tracer::internal::PastRun;
using tracer::internal::PastRuns;
using tracer::internal::RecordingSeries;
using tracer::internal::UniqueFd;

/// The same file once more: by one descriptor, several may read.
OpenRecording opened_again(const PassedFile& file) {
  return {UniqueFd(::fcntl(file.fd.get(), F_DUPFD_CLOEXEC, 0)), tracer::internal::name_of(file.about)};
}

std::vector<RecordingSeries> series_of(const std::vector<PassedFile>& files) {
  std::vector<OpenRecording> open;
  for (const PassedFile& file : files) open.push_back(opened_again(file));
  return tracer::internal::series_of(tracer::internal::open_parts(std::move(open)));
}

/// Only rows that say something of runs become events. Returns when the last frame was closed, by Unix time.
std::uint64_t add_runs(RecordingSeries& series, PastRuns& runs) {
  const std::uint32_t owner = series.parts().front().owner_uid.value_or(0);
  std::uint64_t closed_ns = 0;
  for (auto rest = series.next_frame(RecordingSeries::Wait::kForBytes); rest.frame != nullptr;
       rest = series.next_frame(RecordingSeries::Wait::kForBytes)) {
    const tracer::internal::ColumnFrame& frame = *rest.frame;
    closed_ns = frame.clock().boot_ns + frame.clock().wall_offset_ns;
    std::optional<tracer::internal::EventRows> rows;
    std::array<std::size_t, tracer::internal::kKinds + 1> row_of_kind{};
    for (std::size_t row = 0; row < frame.rows(); ++row) {
      const std::size_t place = frame.place_of_row(row);
      const std::size_t of_kind = row_of_kind[place]++;
      if (row < rest.first_row || place == tracer::internal::kKinds) continue;
      if (!PastRuns::wants(tracer::internal::kKindNumbers[place])) continue;
      if (!rows) rows.emplace().open(frame);
      runs.add(rows->event(place, of_kind), owner, frame.clock().wall_offset_ns);
    }
  }
  runs.end_recording(closed_ns);
  return closed_ns;
}

/// Nothing more is opened: what users have made the service record is read without a right.
std::vector<PassedFile> ask_and_become_reader() {
  std::vector<PassedFile> files = tracer::internal::ask_past(tracer::service_socket_to_try(), 0);
  become_reader();
  return files;
}

/// Of one who sees others', too, the own ones. Root has none of its own: all.
void keep_own(std::vector<PassedFile>& files, uid_t self) {
  const auto is_own = [self](const PassedFile& file) { return file.about.owner_uid == self; };
  if (self != 0 && std::any_of(files.begin(), files.end(), is_own))
    std::erase_if(files, [&](const PassedFile& file) { return !is_own(file); });
}

/// Those that it may be in. The one before them stays: so that nothing is missing before the run.
void keep_files_of(const PastRun& run, std::vector<PassedFile>& newest_first) {
  bool has_before = false;
  std::erase_if(newest_first, [&](const PassedFile& file) {
    if (file.about.owner_uid != run.owner_uid) return true;
    return file.about.written_ns < run.begin_ns && std::exchange(has_before, true);
  });
}

/// The run that began last, and the files that it may be in. A file begins with the runs that live then, so that none
/// before them can have a later one, once all of it was written before that began.
std::optional<PastRun> find_latest(std::vector<PassedFile>& newest_first) {
  PastRuns runs;
  std::optional<PastRun> latest;
  for (PassedFile& file : newest_first) {
    if (latest && file.about.written_ns < latest->begin_ns) break;
    std::vector<OpenRecording> open;
    open.push_back(opened_again(file));
    for (RecordingSeries& series : tracer::internal::series_of(tracer::internal::open_parts(std::move(open))))
      add_runs(series, runs);
    if (const auto found = runs.runs(); !found.empty()) latest = found.front();
  }
  if (!latest) return std::nullopt;
  keep_files_of(*latest, newest_first);
  return latest;
}

void write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw tracer::Error({tracer::ErrorCode::kNoMemory, errno, "no memory for the run's events", {}, {}});
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
}

/// Its events, as a recording in memory.
tracer::RecordingReader copy_of(const PastRun& run, const std::vector<PassedFile>& files, const std::string& name) {
  UniqueFd memory(::memfd_create("run", MFD_CLOEXEC));
  if (!memory) throw tracer::Error({tracer::ErrorCode::kNoMemory, errno, "no memory for the run's events", {}, {}});
  tracer::internal::copy_run(
      {.run_keys = {run.run_key}}, [&files] { return series_of(files); },
      [&memory](std::span<const std::byte> bytes) { write_all(memory.get(), bytes); });
  ::lseek(memory.get(), 0, SEEK_SET);
  return {memory.release(), name};
}

/// The newest first.
std::vector<PastRun> runs_in(const std::vector<PassedFile>& files) {
  PastRuns runs;
  // The oldest session first, so that what comes last of a run counts.
  std::vector<RecordingSeries> all = series_of(files);
  std::reverse(all.begin(), all.end());
  for (RecordingSeries& series : all) add_runs(series, runs);
  return runs.runs();
}

/// Says which it is.
tracer::RecordingReader reader_of(const PastRun& run, const std::vector<PassedFile>& files) {
  std::string name = tracer::internal::run_name(*run.context);
  if (name.empty()) name = run.context->engine.value_or("run");
  const std::time_t began = static_cast<std::time_t>(run.begin_ns / 1'000'000'000);
  name = fmt::format("{}, the run of {:%Y-%m-%d %H:%M:%S}", tracer::internal::printable(name), fmt::localtime(began));
  say("tracerd: {}\n", name);
  return copy_of(run, files, name);
}

[[noreturn]] void refuse_without_runs() {
  throw tracer::Error({tracer::ErrorCode::kInvalidArgument,
                       0,
                       "the service has recorded no run of yours",
                       "begin one: tracerd run COMMAND, or name a recording",
                       {}});
}

}  // namespace

std::vector<ListedRun> past_runs() {
  const std::vector<PassedFile> files = ask_and_become_reader();
  std::vector<ListedRun> listed;
  for (PastRun& run : runs_in(files)) {
    ListedRun& each = listed.emplace_back(std::move(run));
    // A file has what came after the one before it; the newest comes first.
    std::uint64_t before_ns = 0;
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
      if (file->about.owner_uid != each.run.owner_uid) continue;
      const bool has_some = before_ns <= each.run.end_ns && each.run.begin_ns <= file->about.written_ns;
      if (has_some) each.file_bytes += file->about.bytes;
      before_ns = file->about.written_ns;
    }
  }
  return listed;
}

tracer::RecordingReader latest_run() {
  const uid_t self = ::getuid();
  std::vector<PassedFile> files = ask_and_become_reader();
  keep_own(files, self);
  const auto run = find_latest(files);
  if (!run) refuse_without_runs();
  return reader_of(*run, files);
}

FoundRun find_run(std::string_view name) {
  const uid_t self = ::getuid();
  std::vector<PassedFile> files = ask_and_become_reader();
  keep_own(files, self);
  const std::vector<PastRun> runs = runs_in(files);
  if (runs.empty()) refuse_without_runs();
  const auto named = std::find_if(runs.begin(), runs.end(), [&](const PastRun& run) {
    const auto names = tracer::internal::names_of_scope(*run.context, true);
    return std::find(names.begin(), names.end(), name) != names.end();
  });
  const PastRun& run = named == runs.end() ? runs.front() : *named;
  keep_files_of(run, files);
  return {reader_of(run, files), named != runs.end()};
}

}  // namespace tracerd
