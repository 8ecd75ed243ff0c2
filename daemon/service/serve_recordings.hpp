// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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
#include "serve/recent_events.hpp"
#include "service/serve_config.hpp"

namespace tracerd {

/// What a service records of the whole host: files of a bounded size, number and age, in a folder of root's. A failure,
/// such as a full disk, is reported, and it tries again later.
class ServeRecordings {
 public:
  /// Before rights are given up, while there is one thread. A folder that is missing is looked for again and again.
  /// Throws tracer::Error(kFileUnwritable).
  explicit ServeRecordings(const ServeConfig::Recordings& options);
  /// Begins to record. `left`: events that an earlier process delivered: those of them that its recording lacks come
  /// first; null: there was none.
  void start(const tracer::Session& session, tracer::internal::Server& server,
             const tracer::internal::RecentEvents::Left* left);
  /// Writes what it has by now, and no more.
  void end();
  /// To be called now and then: says what has failed, goes on in a new file when it is time.
  void look(std::chrono::steady_clock::time_point now);
  /// Goes on in a new file soon: it begins with what lives then, and no event is in both or in neither.
  void begin_anew();
  /// An object as JSON.
  std::string status() const;

 private:
  void begin(int fd, std::span<const tracer::Event> first);
  void begin_anew_with(std::span<const tracer::Event> first);
  std::vector<tracer::Event> rest_of(const tracer::internal::RecentEvents::Left& left) const;
  void close();
  /// Says that events are missing before the present recording.
  tracer::Event gap_up_to_now() const;

  const ServeConfig::Recordings options_;
  std::string file_;
  std::shared_ptr<Rotation> rotation_;
  const tracer::Session* session_ = nullptr;
  tracer::internal::Server* server_ = nullptr;
  std::optional<tracer::SinkHandle> sink_;
  std::optional<std::string> problem_;
  std::uint64_t failures_ = 0;
  std::uint64_t dropped_ = 0;  ///< Of recordings before the present one.
  std::shared_ptr<tracer::RecordingPlace> place_ = std::make_shared<tracer::RecordingPlace>();
  bool lacks_events_ = false;         ///< There was no recording for a while.
  bool waits_for_living_ = false;     ///< A new file is asked for.
  std::uint64_t whole_until_ns_ = 0;  ///< Until then, recordings have all.
  std::chrono::steady_clock::time_point began_{};
  std::chrono::steady_clock::time_point try_again_{};
};

}  // namespace tracerd
