// SPDX-License-Identifier: Apache-2.0
#include "service/serve_recordings.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/json_text.hpp"
#include "serve/past_files.hpp"
#include "show/printable.hpp"
#include "stream/recording_tail.hpp"
#include "terminal/say.hpp"

namespace tracerd {
namespace {

using std::chrono::steady_clock;

constexpr auto kLookAtDisk = std::chrono::seconds(2);
/// So long, a clock that says that files are too old must say so.
constexpr auto kLongestWrongClock = std::chrono::hours(1);

/// What the files take.
struct Disk {
  std::uint64_t used_bytes = 0;
  std::uint64_t files = 0;
};

Disk disk_of(const std::string& file, std::uint32_t older) {
  Disk disk;
  for (std::uint32_t number = 0; number <= older; ++number) {
    struct stat status {};
    if (::stat(tracer::internal::name_of_past(file, number).c_str(), &status) != 0) continue;
    ++disk.files;
    disk.used_bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return disk;
}

Disk disk_of(const std::filesystem::path& folder, uid_t owner) {
  Disk disk;
  for (const auto& file : tracer::internal::past_files(folder, owner, false)) {
    ++disk.files;
    disk.used_bytes += file.disk_bytes;
  }
  return disk;
}

void append_problem(std::string& text, const std::optional<std::string>& problem) {
  text += ",\"problem\":";
  if (problem) {
    tracer::internal::append_json_text(text, *problem);
  } else {
    text += "null";
  }
}

}  // namespace

ServeRecordings::ServeRecordings(const ServeConfig::Recordings& options) : options_(options) {
  if (options_.folder.empty()) return;
  Rotation::Lasting lasting{
      .max_age = options_.max_age, .folder_may_come = true, .folder_of_owners = options_.folder.string()};
  if (const auto& outbox = options_.outbox.folder; !outbox.empty()) {
    if (Outbox::is_elsewhere(options_.folder, outbox))
      throw tracer::Error({tracer::ErrorCode::kFileUnwritable,
                           EXDEV,
                           fmt::format("the outbox {} is on another file system than the recordings in {}",
                                       outbox.string(), options_.folder.string()),
                           fmt::format("name one on the same, such as {}", (options_.folder / "outbox").string()),
                           {}});
    lasting.outbox = options_.outbox;
    lasting.most_bytes = options_.most_bytes - options_.file_bytes;
  }
  std::vector<std::string> files;
  if (!options_.by_owner) files.push_back((options_.folder / tracer::internal::kNameOfPast).string());
  rotation_ = std::make_shared<Rotation>(std::nullopt, files, options_.files, std::move(lasting));
}

void ServeRecordings::start(const tracer::Session& session, tracer::internal::Server& server,
                            const tracer::internal::RecentEvents::Left* left) {
  session_ = &session;
  server_ = &server;
  if (!rotation_) return;
  if (options_.by_owner) return server.record_by_owner([this](uid_t owner, auto of_owner) { meet(owner, of_owner); });
  RecordedSeries& series = add_series(std::nullopt);
  if (left == nullptr) return series.start(std::nullopt);
  std::vector<tracer::Event> events;
  for (const auto& each : left->events) events.push_back(each.event);
  series.start(events);
}

std::size_t ServeRecordings::place_of(uid_t owner) {
  const auto known = places_.find(owner);
  return known != places_.end() ? known->second : places_.emplace(owner, rotation_->add_owner(owner)).first->second;
}

RecordedSeries& ServeRecordings::add_series(Owner owner) {
  RecordedSeries::Place place{(options_.folder / tracer::internal::kNameOfPast).string(), rotation_, 0, owner};
  if (owner) {
    place.file = (options_.folder / std::to_string(*owner) / tracer::internal::kNameOfPast).string();
    place.which = place_of(*owner);
  }
  return series_.try_emplace(owner, options_, std::move(place), *session_, *server_).first->second;
}

void ServeRecordings::meet(uid_t owner, std::optional<std::span<const tracer::Event>> left) {
  if (series_.size() < kMostOwners) return add_series(owner).start(left);
  if (left_out_++ == 0)
    say("tracerd: more than {} users: what user {} and later ones run is not recorded\n", kMostOwners, owner);
}

void ServeRecordings::end() {
  for (auto& [owner, series] : series_) series.end();
}

void ServeRecordings::begin_anew() {
  std::set<Owner> all;
  for (const auto& [owner, series] : series_) all.insert(owner);
  begin_anew(all);
}

void ServeRecordings::begin_anew(const std::set<Owner>& wanted) {
  const bool is_asked = !wanted_.empty();
  wanted_.insert(wanted.begin(), wanted.end());
  if (is_asked || wanted_.empty()) return;
  server_->with_living([this](std::span<const tracer::Event> living) {
    const auto of_owners =
        options_.by_owner ? server_->by_owner(living) : std::map<uid_t, std::vector<tracer::Event>>();
    for (const Owner& owner : std::exchange(wanted_, {})) {
      const auto own = owner ? of_owners.find(*owner) : of_owners.end();
      series_.at(owner).begin_anew_with(!owner                   ? living
                                        : own == of_owners.end() ? std::span<const tracer::Event>()
                                                                 : std::span<const tracer::Event>(own->second));
    }
  });
}

void ServeRecordings::look(steady_clock::time_point now) {
  std::set<Owner> due;
  for (auto& [owner, series] : series_)
    if (series.look(now)) due.insert(owner);
  begin_anew(due);
  if (rotation_) say_of_outbox();
  if (!options_.by_owner || !rotation_ || now < next_look_at_disk_) return;
  next_look_at_disk_ = now + kLookAtDisk;
  keep_bounds(now);
}

std::optional<std::string> ServeRecordings::outbox_problem() const {
  const int error_number = rotation_->outbox().error_number;
  if (error_number == 0) return std::nullopt;
  return tracer::Error({tracer::ErrorCode::kFileUnwritable,
                        error_number,
                        fmt::format("a recording can't be sealed in the outbox {}", options_.outbox.folder.string()),
                        "look at the folder and its disk; the recording goes on, and each next file tries again",
                        {}})
      .what();
}

void ServeRecordings::say_of_outbox() {
  const auto problem = outbox_problem();
  if (problem && problem != said_of_outbox_) say("tracerd: {}\n", tracer::internal::printable_lines(*problem));
  said_of_outbox_ = problem;
}

std::string ServeRecordings::status_of_outbox() const {
  const Outbox::State state = Outbox::state_of(options_.outbox.folder);
  const Outbox::Counts counts = rotation_->outbox();
  std::string text = ",\"outbox\":{\"folder\":";
  tracer::internal::append_json_text(text, options_.outbox.folder.string());
  text +=
      fmt::format(",\"most_bytes\":{},\"parts\":{},\"bytes\":{},\"gaps\":{},\"removed\":{},\"failures\":{}",
                  options_.outbox.most_bytes, state.parts, state.bytes, state.gaps, counts.removed, counts.failures);
  if (state.oldest_ns)
    text += fmt::format(",\"oldest_s\":{}",
                        std::max<std::int64_t>(0, std::time(nullptr) - *state.oldest_ns / 1'000'000'000));
  append_problem(text, outbox_problem());
  return text + '}';
}

/// Together they take what one recording would. Who holds most loses the oldest file.
void ServeRecordings::keep_bounds(steady_clock::time_point now) {
  using tracer::internal::PastFile;
  std::map<uid_t, std::vector<PastFile>> files;
  std::map<uid_t, std::uint64_t> held;
  std::uint64_t all = 0;
  for (const uid_t owner : tracer::internal::past_owners(options_.folder)) {
    std::vector<PastFile>& of_owner = files[owner] = tracer::internal::past_files(options_.folder, owner, false);
    if (of_owner.empty()) continue;
    if (!series_.contains(owner)) remove_old(owner, of_owner.back().written_ns, now);
    for (const PastFile& file : of_owner) held[owner] += file.disk_bytes;
    all += held[owner];
  }
  const std::uint64_t most = options_.most_bytes;
  while (all > most) {
    const auto largest = std::max_element(held.begin(), held.end(),
                                          [](const auto& one, const auto& other) { return one.second < other.second; });
    const uid_t owner = largest->first;
    std::vector<PastFile>& of_owner = files[owner];
    // The one that is written to goes when it is an older one.
    if (of_owner.size() == 1 && series_.contains(owner)) return begin_anew({owner});
    if (of_owner.empty() || !rotation_->remove_oldest(place_of(owner), !keeps_newest(owner))) return;
    all -= of_owner.back().disk_bytes;
    largest->second -= of_owner.back().disk_bytes;
    of_owner.pop_back();
  }
}

void ServeRecordings::remove_old(uid_t owner, std::int64_t oldest_ns, steady_clock::time_point now) {
  const std::int64_t age_ns = static_cast<std::int64_t>(std::time(nullptr)) * 1'000'000'000 - oldest_ns;
  if (age_ns <= std::chrono::nanoseconds(options_.max_age).count()) {
    idle_since_.erase(owner);
  } else if (now - idle_since_.try_emplace(owner, now).first->second >= kLongestWrongClock) {
    rotation_->remove_oldest(place_of(owner), !keeps_newest(owner));
  }
}

/// It is written to, or the next one for the outbox gets its number by it.
bool ServeRecordings::keeps_newest(uid_t owner) const {
  const auto file = options_.folder / std::to_string(owner) / tracer::internal::kNameOfPast;
  return series_.contains(owner) || (!options_.outbox.folder.empty() &&
                                     tracer::internal::last_place(file, session_->host().session_id).number != 0);
}

std::string ServeRecordings::status() const {
  if (!rotation_) return "null";
  Disk disk;
  std::uint64_t removed = 0;
  std::uint64_t failures = 0;
  std::uint64_t dropped = 0;
  std::optional<std::string> problem;
  std::string owners;
  for (const auto& [owner, series] : series_) {
    const Disk own = owner ? disk_of(options_.folder, *owner) : disk_of(series.place().file, options_.files);
    removed += series.removed();
    failures += series.failures();
    dropped += series.dropped();
    if (!problem) problem = series.problem();
    disk.files += own.files;
    disk.used_bytes += own.used_bytes;
    if (!owner) continue;
    owners += fmt::format(
        "{}{{\"uid\":{},\"files_there\":{},\"used_bytes\":{},\"removed\":{},\"failures\":{},\"dropped_events\":{}",
        owners.empty() ? "" : ",", *owner, own.files, own.used_bytes, series.removed(), series.failures(),
        series.dropped());
    append_problem(owners, series.problem());
    owners += '}';
  }
  std::string text = "{\"file\":";
  tracer::internal::append_json_text(
      text, (options_.folder / (options_.by_owner ? "UID" : "") / tracer::internal::kNameOfPast).string());
  text += fmt::format(
      ",\"file_bytes\":{},\"files\":{},\"files_there\":{},\"used_bytes\":{},\"removed\":{},\"failures\":{},"
      "\"dropped_events\":{}",
      options_.file_bytes, options_.files, disk.files, disk.used_bytes, removed, failures, dropped);
  struct statvfs space {};
  if (::statvfs(options_.folder.c_str(), &space) == 0)
    text += fmt::format(",\"free_bytes\":{}", static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize);
  append_problem(text, problem);
  if (options_.by_owner) text += fmt::format(",\"owners_left_out\":{},\"owners\":[{}]", left_out_, owners);
  if (!options_.outbox.folder.empty()) text += status_of_outbox();
  return text + '}';
}

}  // namespace tracerd
