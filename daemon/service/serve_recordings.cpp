// SPDX-License-Identifier: Apache-2.0
#include "service/serve_recordings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "show/printable.hpp"
#include "stream/recording_tail.hpp"
#include "terminal/say.hpp"

namespace tracerd {
namespace {

constexpr auto kTryAgain = std::chrono::seconds(60);
/// After so long, what a sink got is in its file, or it has a problem.
constexpr std::uint64_t kLongestUnwritten_ns = 10'000'000'000;

/// What the files take, and what their disk has left.
struct Disk {
  std::uint64_t used_bytes = 0;
  std::uint32_t files = 0;
  std::optional<std::uint64_t> free_bytes;
};

Disk disk_of(const std::filesystem::path& folder, const std::string& file, std::uint32_t older) {
  Disk disk;
  for (std::uint32_t number = 0; number <= older; ++number) {
    struct stat status {};
    if (::stat((number == 0 ? file : fmt::format("{}.{}", file, number)).c_str(), &status) != 0) continue;
    ++disk.files;
    disk.used_bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) == 0)
    disk.free_bytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  return disk;
}

/// What lives is told by its beginnings.
bool says_where_it_ends(const std::vector<tracer::Event>& last) {
  return std::any_of(last.begin(), last.end(), [](const tracer::Event& event) {
    using tracer::EventKind;
    return event.kind() != EventKind::kProcessStart && event.kind() != EventKind::kRunStart &&
           event.kind() != EventKind::kTaskStart && event.kind() != EventKind::kTaskSubmit;
  });
}

}  // namespace

ServeRecordings::ServeRecordings(const ServeConfig::Recordings& options) : options_(options) {
  if (options_.folder.empty()) return;
  file_ = (options_.folder / "host.tracer").string();
  rotation_ = std::make_shared<Rotation>(std::nullopt, std::vector{file_}, options_.files,
                                         Rotation::Lasting{options_.max_age, true});
}

void ServeRecordings::start(const tracer::Session& session, tracer::internal::Server& server,
                            const tracer::internal::RecentEvents::Left* left) {
  session_ = &session;
  server_ = &server;
  whole_until_ns_ = tracer::internal::boot_time_ns();
  if (!rotation_) return;
  *place_ = tracer::internal::last_place(file_, session.host().session_id);
  const std::vector<tracer::Event> rest = left == nullptr ? std::vector<tracer::Event>() : rest_of(*left);
  begin_anew_with(rest);
}

void ServeRecordings::end() {
  if (sink_) sink_->close();
  sink_.reset();
}

/// The newest files may have no whole frame of events, or only say what lived when they began: those before them say
/// where they end.
std::vector<tracer::Event> ServeRecordings::rest_of(const tracer::internal::RecentEvents::Left& left) const {
  std::vector<tracer::Event> events;
  events.reserve(left.events.size());
  for (const auto& each : left.events) events.push_back(each.event);
  std::vector<tracer::Event> last;
  for (std::size_t number = 0; !says_where_it_ends(last) && number <= options_.files; ++number) {
    const auto of_file = tracer::internal::last_events(number == 0 ? file_ : fmt::format("{}.{}", file_, number));
    last.insert(last.end(), of_file.begin(), of_file.end());
  }
  if (last.empty()) return events;
  if (const auto behind = tracer::internal::find_behind(events, last)) {
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(*behind));
    return events;
  }
  tracer::Loss loss;
  for (const tracer::Event& event : last) loss.time_ns = std::max(loss.time_ns, event.time_ns());
  loss.cause = "service_gap";
  loss.count = 1;
  loss.first_ns = loss.last_ns = loss.time_ns;
  say("tracerd: {}: how many events it lacks is not known\n", tracer::internal::printable(file_));
  // All of them are later, or nobody knows which of them it has.
  const auto is_newer = [&](const tracer::Event& event) { return event.time_ns() > loss.time_ns; };
  if (!std::all_of(events.begin(), events.end(), is_newer)) events.clear();
  loss.last_ns = events.empty() ? loss.time_ns : events.front().time_ns();
  events.insert(events.begin(), tracer::Event(std::move(loss)));
  return events;
}

void ServeRecordings::begin_anew() {
  if (!rotation_ || session_ == nullptr || std::exchange(waits_for_living_, true)) return;
  server_->with_living([this](std::span<const tracer::Event> living) {
    waits_for_living_ = false;
    begin_anew_with(living);
  });
}

void ServeRecordings::begin_anew_with(std::span<const tracer::Event> first) {
  close();
  const int fd = rotation_->next(0);
  began_ = std::chrono::steady_clock::now();
  if (fd >= 0) return begin(fd, first);
  const int error_number = errno;
  ++failures_;
  lacks_events_ = true;
  try_again_ = began_ + kTryAgain;
  problem_ = tracer::Error({tracer::ErrorCode::kFileUnwritable,
                            error_number,
                            fmt::format("{} can't be made", file_),
                            "look at the folder and its disk; the service goes on, and tries again",
                            {}})
                 .what();
  say("tracerd: {}\n", tracer::internal::printable_lines(*problem_));
}

void ServeRecordings::close() {
  if (!sink_) return;
  sink_->close();
  dropped_ += sink_->dropped();
  sink_.reset();
}

void ServeRecordings::begin(int fd, std::span<const tracer::Event> first) {
  problem_.reset();
  auto sink = tracer::recording_sink(fd, file_, session_->host(),
                                     {.max_bytes = options_.file_bytes,
                                      .next_file = [rotation = rotation_] { return rotation->next(0); },
                                      .place = place_});
  if (std::exchange(lacks_events_, false)) {
    const tracer::Event gap = gap_up_to_now();
    sink->write({&gap, 1});
  }
  sink_ = server_->add_sink(std::move(sink), first);
}

tracer::Event ServeRecordings::gap_up_to_now() const {
  tracer::Loss loss;
  loss.time_ns = tracer::internal::boot_time_ns();
  loss.cause = "unrecorded";
  // How many they are, nobody has counted.
  loss.count = 1;
  loss.first_ns = whole_until_ns_;
  loss.last_ns = loss.time_ns;
  return loss;
}

void ServeRecordings::look(std::chrono::steady_clock::time_point now) {
  if (!rotation_) return;
  if (sink_) {
    if (const auto problem = sink_->problem()) {
      ++failures_;
      lacks_events_ = true;
      problem_ = tracer::Error(*problem).what();
      say("tracerd: {}: {}\n", file_, tracer::internal::printable_lines(*problem_));
      close();
      try_again_ = now + kTryAgain;
    } else {
      const std::uint64_t now_ns = tracer::internal::boot_time_ns();
      whole_until_ns_ = std::max(whole_until_ns_, now_ns - std::min(now_ns, kLongestUnwritten_ns));
      // So that what is kept is hardly older than wanted.
      const std::chrono::seconds longest = std::chrono::seconds(options_.max_age) / 4;
      if (now - began_ > (options_.seal.count() == 0 ? longest : std::min(options_.seal, longest))) begin_anew();
    }
  } else if (now >= try_again_) {
    begin_anew();
  }
}

std::string ServeRecordings::status() const {
  if (!rotation_) return "null";
  const Disk disk = disk_of(options_.folder, file_, options_.files);
  std::string text = "{\"file\":";
  tracer::internal::append_json_text(text, file_);
  text += fmt::format(
      ",\"file_bytes\":{},\"files\":{},\"files_there\":{},\"used_bytes\":{},\"removed\":{},\"failures\":{},"
      "\"dropped_events\":{}",
      options_.file_bytes, options_.files, disk.files, disk.used_bytes, rotation_->removed(0), failures_,
      dropped_ + (sink_ ? sink_->dropped() : 0));
  if (disk.free_bytes) text += fmt::format(",\"free_bytes\":{}", *disk.free_bytes);
  text += ",\"problem\":";
  if (problem_) {
    tracer::internal::append_json_text(text, *problem_);
  } else {
    text += "null";
  }
  return text + '}';
}

}  // namespace tracerd
