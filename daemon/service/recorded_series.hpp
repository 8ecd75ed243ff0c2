// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/session.hpp>

#include "files/rotation.hpp"
#include "serve/server.hpp"
#include "service/serve_config.hpp"

namespace tracerd {

/// A recording of a service, in files of a bounded size and number: of the whole host, or of what is one owner's. A
/// failure, such as a full disk, is reported, and it tries again later.
class RecordedSeries {
 public:
  struct Place {
    std::string file;
    std::shared_ptr<Rotation> rotation;
    std::size_t which = 0;                      ///< Of the rotation's files.
    std::optional<uid_t> owner = std::nullopt;  ///< Absent: of the whole host.
  };
  RecordedSeries(const ServeConfig::Recordings& options, Place place, const tracer::Session& session,
                 tracer::internal::Server& server);

  /// `left`: what an earlier process delivered: the part that its recording lacks comes first. Absent: there was none.
  void start(std::optional<std::span<const tracer::Event>> left);
  /// Goes on in a new file, which begins with these.
  void begin_anew_with(std::span<const tracer::Event> first);
  /// Writes what it has by now, and no more.
  void end();
  /// Says what has failed. True: it is time to go on in a new file.
  bool look(std::chrono::steady_clock::time_point now);

  std::uint64_t failures() const noexcept { return failures_; }
  std::uint64_t dropped() const;
  std::uint64_t removed() const { return place_.rotation->removed(place_.which); }
  const std::optional<std::string>& problem() const noexcept { return problem_; }
  const Place& place() const noexcept { return place_; }

 private:
  void begin(int fd, std::span<const tracer::Event> first);
  std::vector<tracer::Event> rest_of(std::span<const tracer::Event> left) const;
  void close();
  std::chrono::seconds longest() const;
  /// Says that events are missing before the present recording.
  tracer::Event gap_up_to_now() const;

  const ServeConfig::Recordings& options_;
  const Place place_;
  const tracer::Session& session_;
  tracer::internal::Server& server_;
  std::optional<tracer::SinkHandle> sink_;
  std::optional<std::string> problem_;
  std::uint64_t failures_ = 0;
  std::uint64_t dropped_ = 0;  ///< Of recordings before the present one.
  std::shared_ptr<tracer::RecordingPlace> position_ = std::make_shared<tracer::RecordingPlace>();
  struct Noted {
    std::atomic<bool> own = false;   ///< It got more than what it begins with, and what is everybody's.
    std::atomic<bool> end = false;   ///< Of a run or task.
    std::atomic<bool> task = false;  ///< One lives.
    std::atomic<bool> full = false;  ///< It was left since, as there was no room in it.
  };
  class Notes;
  std::shared_ptr<Noted> noted_ = {};  ///< What the present file has got.
  bool lacks_events_ = false;          ///< There was no recording for a while.
  std::uint64_t whole_until_ns_ = 0;   ///< Until then, recordings have all.
  std::chrono::steady_clock::time_point began_{};
  std::chrono::steady_clock::time_point try_again_{};
};

}  // namespace tracerd
