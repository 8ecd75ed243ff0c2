// SPDX-License-Identifier: Apache-2.0
#include "stream/recording_series.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracer::internal {
namespace {

/// A file that is held open is read as well when it gets another name, or may not be opened any more. Half of what the
/// process may have open; others are opened one at a time.
std::size_t most_held_open() noexcept {
  constexpr std::size_t kUsual = 1024;
  rlimit limit{};
  return (::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::size_t{limit.rlim_cur} : kUsual) / 2;
}

/// By their numbers where all have one; else in the order of time.
void sort(std::vector<RecordingPart>& parts) {
  const bool numbered =
      std::all_of(parts.begin(), parts.end(), [](const RecordingPart& part) { return part.number != 0; });
  const auto place = [&](const RecordingPart& part) {
    return std::tuple(part.repeated, numbered ? part.number : 0, part.begin_ns, part.part);
  };
  std::sort(parts.begin(), parts.end(),
            [&](const RecordingPart& one, const RecordingPart& other) { return place(one) < place(other); });
}

/// To know its place among others; what it takes to read it comes again when it is read.
void look_at_begin(RecordingPart& part) {
  if (!part.file->is_file()) return;
  if (part.file->next_frame(RecordingFile::Wait::kForBytes).frame != nullptr) part.begin_ns = part.file->closed_ns();
  part.fd = part.file->take_file();
  part.file.reset();
}

/// Named by a user id.
bool is_of_owner(const std::filesystem::path& folder) {
  return folder.filename().native().find_first_not_of("0123456789") == std::string::npos;
}

std::vector<std::filesystem::path> recordings_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (each->is_regular_file(error)) {
      files.push_back(each->path());
    } else if (is_of_owner(each->path()) && !each->is_symlink(error) && each->is_directory(error)) {
      for (std::filesystem::path& file : recordings_in(each->path())) files.push_back(std::move(file));
    }
  if (error)
    throw Error({ErrorCode::kFileUnreadable,
                 error.value(),
                 "can't read the folder " + folder.string(),
                 "check its permissions",
                 {}});
  std::sort(files.begin(), files.end());
  return files;
}

/// Null: it is something else.
std::unique_ptr<RecordingFile> recording_among_others(const std::filesystem::path& file) {
  try {
    return std::make_unique<RecordingFile>(file);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kNotARecording) return nullptr;
    throw;
  }
}

}  // namespace

RecordingPart::RecordingPart(std::unique_ptr<RecordingFile> opened)
    : name(opened->name()),
      host(opened->host()),
      part(opened->header().part),
      number(opened->header().number),
      previous_frames(opened->header().previous_frames),
      stream(opened->stream()),
      owner_uid(opened->header().owner_uid),
      knows_findings(opened->knows_findings()),
      file(std::move(opened)) {}

RecordingSeries::RecordingSeries(std::vector<RecordingPart> parts) : parts_(std::move(parts)) {
  if (parts_.size() > 1) {
    std::set<std::uint64_t> streams;
    for (RecordingPart& part : parts_) {
      part.repeated = !streams.insert(part.stream).second;
      if (part.file)
        throw Error({ErrorCode::kFileUnreadable,
                     0,
                     part.name + " can't be read beside other files of its recording",
                     "name regular files where there are several",
                     {}});
    }
    sort(parts_);
    RecordingPart& first = parts_.front();
    if (first.number > 1) first.missing_before = first.number - 1;
  }
  open(parts_.front());
}

void RecordingSeries::open(RecordingPart& part) {
  if (part.file) {
    file_ = std::move(part.file);
  } else if (part.fd) {
    file_ = std::make_unique<RecordingFile>(part.fd.release(), part.name);
  } else {
    auto again = std::make_unique<RecordingFile>(std::filesystem::path(part.name));
    if (again->stream() != part.stream)
      throw Error(
          {ErrorCode::kFileUnreadable, 0, part.name + " is another file by now", "read the recording again", {}});
    file_ = std::move(again);
  }
  if (wanted_) file_->keep_only(read_kinds());
  file_->rename(rename_);
}

void RecordingSeries::rename(std::function<void(Context&)> rename) {
  rename_ = std::move(rename);
  file_->rename(rename_);
}

void RecordingSeries::keep_only(std::span<const EventKind> kinds) {
  wanted_.emplace();
  for (const EventKind kind : kinds)
    if (const std::size_t place = place_of_kind(static_cast<std::uint64_t>(kind)); place != kKinds) wanted_->set(place);
  file_->keep_only(read_kinds());
}

KindSet RecordingSeries::read_kinds() const {
  KindSet kinds = *wanted_;
  for (std::size_t place = 0; place < kKinds; ++place)
    if (kKindNumbers[place] == EventKind::kSessionEnd ||
        (parts_.size() > 1 && StartedOnce::follows(kKindNumbers[place])))
      kinds.set(place);
  return kinds;
}

bool RecordingSeries::is_wanted(const Event& event) const {
  if (!wanted_) return true;
  const std::size_t place = place_of_kind(static_cast<std::uint64_t>(event.kind()));
  return place != kKinds && (*wanted_)[place];
}

bool RecordingSeries::knows_findings() const noexcept {
  return std::all_of(parts_.begin(), parts_.end(), [](const RecordingPart& part) { return part.knows_findings; });
}

RecordingDamage RecordingSeries::damage_of(std::size_t part) const noexcept {
  return part == at_ ? file_->damage() : parts_[part].damage;
}

RecordingDamage RecordingSeries::damage() const noexcept {
  RecordingDamage all = file_->damage();
  for (const RecordingPart& part : parts_) {
    all.skipped_bytes += part.damage.skipped_bytes;
    all.skipped_events += part.damage.skipped_events;
    all.missing_frames += part.damage.missing_frames;
    if (all.read_error == 0) all.read_error = part.damage.read_error;
  }
  return all;
}

bool RecordingSeries::go_on() {
  if (!file_->at_end() || !has_next()) return false;
  RecordingPart& before = parts_[at_];
  RecordingPart& next = parts_[at_ + 1];
  next.missing_from_ns = file_->closed_ns();
  const bool counted = before.number != 0 && next.number > before.number;
  if (counted) next.missing_before = next.number - before.number - 1;
  const bool knows_end = counted && next.missing_before == 0 && next.previous_frames != 0;
  next.cut_before =
      knows_end ? file_->frames() < next.previous_frames : next.missing_before == 0 && file_->damage().truncated;
  before.damage = file_->damage();
  before.damage.truncated = next.cut_before;
  open(next);
  ++at_;
  return true;
}

std::optional<Event> RecordingSeries::loss_before() const {
  const RecordingPart& part = parts_[at_];
  if (part.missing_before == 0 && !part.cut_before) return std::nullopt;
  Loss loss;
  loss.time_ns = part.begin_ns;
  loss.cause = "recording_missing_part";
  loss.count = part.missing_before + (part.cut_before ? 1 : 0);
  if (part.missing_from_ns != 0) loss.first_ns = part.missing_from_ns;
  loss.last_ns = part.begin_ns;
  return Event(std::move(loss));
}

bool RecordingSeries::takes(const Event& event) {
  return started_.take(event) && !(event.kind() == EventKind::kSessionEnd && has_next());
}

Event RecordingSeries::next(Wait wait) {
  const bool is_alone = parts_.size() == 1;
  std::optional<Event> loss;
  if (!is_alone && !std::exchange(began_, true)) loss = loss_before();
  for (;;) {
    if (loss && is_wanted(*loss)) return std::move(*loss);
    Event event = file_->next(wait);
    if (event.kind() == EventKind::kNone) {
      if (is_alone || !go_on()) return {};
      loss = loss_before();
    } else if ((is_alone || takes(event)) && is_wanted(event)) {
      return event;
    }
  }
}

RecordingSeries::FrameRest RecordingSeries::next_frame(Wait wait) {
  if (parts_.size() == 1) return file_->next_frame(wait);
  if (!std::exchange(began_, true))
    if (const auto loss = loss_before()) return frame_of(*loss);
  for (;;) {
    const FrameRest rest = file_->next_frame(wait);
    if (rest.frame != nullptr) {
      const FrameRest kept = without_repeats(rest);
      if (kept.frame != nullptr) return kept;
    } else if (!go_on()) {
      return {};
    } else if (const auto loss = loss_before()) {
      return frame_of(*loss);
    }
  }
}

RecordingSeries::FrameRest RecordingSeries::frame_of(const Event& event) {
  kept_.add(event);
  return {&kept_.close({event.time_ns(), parts_[at_].host.wall_offset_ns}), 0};
}

/// The frame itself, unless something in it is for nobody.
RecordingSeries::FrameRest RecordingSeries::without_repeats(FrameRest rest) {
  const ColumnFrame& frame = *rest.frame;
  EventRows rows;
  rows.open(frame);
  std::array<std::size_t, kKinds + 1> row_of_kind{};
  std::set<std::size_t> left_out;
  for (std::size_t row = 0; row < frame.rows(); ++row) {
    const std::size_t place = frame.place_of_row(row);
    const std::size_t of_kind = row_of_kind[place]++;
    if (row < rest.first_row || place == kKinds) continue;
    const EventKind kind = kKindNumbers[place];
    if (!StartedOnce::follows(kind) && kind != EventKind::kSessionEnd) continue;
    if (!takes(rows.event(place, of_kind))) left_out.insert(row);
  }
  if (left_out.empty()) return rest;
  rows.open(frame);
  for (Event event = rows.next(); event.kind() != EventKind::kNone; event = rows.next()) {
    const std::size_t row = rows.position() - 1;
    if (row >= rest.first_row && !left_out.contains(row)) kept_.add(event);
  }
  if (rows.refused() != 0) file_->note_refused(rows.refused());
  if (kept_.empty()) return {};
  return {&kept_.close(frame.clock()), 0};
}

std::vector<RecordingSeries> series_of(std::vector<RecordingPart> parts) {
  std::vector<std::vector<RecordingPart>> sessions;
  std::map<std::pair<std::string, std::optional<std::uint32_t>>, std::size_t> known;
  for (RecordingPart& part : parts) {
    const auto [found, made] = known.try_emplace({part.host.session_id, part.owner_uid}, sessions.size());
    // Without an id, nothing says that two are one.
    if (made || part.host.session_id.empty()) {
      sessions.emplace_back().push_back(std::move(part));
    } else {
      sessions[found->second].push_back(std::move(part));
    }
  }
  std::vector<RecordingSeries> series;
  series.reserve(sessions.size());
  for (auto& each : sessions) series.emplace_back(std::move(each));
  return series;
}

RecordingSeries only_series_of(std::vector<RecordingPart> parts) {
  std::vector<RecordingSeries> all = series_of(std::move(parts));
  if (all.size() == 1) return std::move(all.front());
  if (all.empty()) throw Error({ErrorCode::kInvalidArgument, 0, "no recording is named", "name its files", {}});
  throw Error({ErrorCode::kInvalidArgument,
               0,
               fmt::format("{} and {} are of different sessions{}", all[0].name(), all[1].name(),
                           all[0].parts().front().owner_uid ? " or owners" : ""),
               "name one recording, or the files of one",
               {}});
}

std::vector<RecordingPart> open_parts(const std::vector<std::filesystem::path>& files) {
  std::vector<RecordingPart> parts;
  const std::size_t most = most_held_open();
  const auto add = [&](std::unique_ptr<RecordingFile> file) {
    parts.emplace_back(std::move(file));
    look_at_begin(parts.back());
    if (parts.size() > most) parts.back().fd.reset();
  };
  for (const std::filesystem::path& file : files) {
    if (!std::filesystem::is_directory(file)) {
      add(std::make_unique<RecordingFile>(file));
      continue;
    }
    const std::size_t before = parts.size();
    for (const std::filesystem::path& each : recordings_in(file))
      if (auto recording = recording_among_others(each)) add(std::move(recording));
    if (parts.size() == before)
      throw Error({ErrorCode::kNotARecording,
                   0,
                   fmt::format("the folder {} has no recording", file.string()),
                   "recordings are made with --record",
                   {}});
  }
  return parts;
}

std::vector<RecordingPart> open_parts(std::vector<OpenRecording> files) {
  std::vector<RecordingPart> parts;
  for (OpenRecording& file : files) {
    parts.emplace_back(std::make_unique<RecordingFile>(file.fd.release(), std::move(file.name)));
    look_at_begin(parts.back());
  }
  return parts;
}

}  // namespace tracer::internal
