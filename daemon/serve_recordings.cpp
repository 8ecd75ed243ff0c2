// SPDX-License-Identifier: Apache-2.0
#include "serve_recordings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "say.hpp"
#include "show/printable.hpp"

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

}  // namespace

ServeRecordings::ServeRecordings(const ServeConfig::Recordings& options) : options_(options) {
  if (options_.folder.empty()) return;
  file_ = (options_.folder / "host.tracer").string();
  rotation_ = std::make_shared<Rotation>(std::nullopt, std::vector{file_}, options_.files,
                                         Rotation::Lasting{options_.max_age, true});
}

void ServeRecordings::start(tracer::Session& session) {
  session_ = &session;
  whole_until_ns_ = tracer::internal::boot_time_ns();
  if (rotation_) begin_anew();
}

void ServeRecordings::begin_anew() {
  if (!rotation_ || session_ == nullptr) return;
  close();
  const int fd = rotation_->next(0);
  began_ = std::chrono::steady_clock::now();
  if (fd >= 0) return begin(fd);
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

void ServeRecordings::begin(int fd) {
  problem_.reset();
  auto sink = tracer::recording_sink(
      fd, file_, session_->host(),
      {.max_bytes = options_.file_bytes, .next_file = [rotation = rotation_] { return rotation->next(0); }});
  if (std::exchange(lacks_events_, false)) {
    const tracer::Event gap = gap_up_to_now();
    sink->write({&gap, 1});
  }
  sink_ = session_->add_sink(std::move(sink));
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
      if (now - began_ > options_.max_age / 4) begin_anew();
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
