// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/session.hpp>

#include "files/rotation.hpp"
#include "serve/recent_events.hpp"
#include "serve/server.hpp"
#include "service/recorded_series.hpp"
#include "service/serve_config.hpp"

namespace tracerd {

/// What a service records, in a folder of root's: one recording of the whole host, or one of each owner, which all
/// together take no more.
class ServeRecordings {
 public:
  /// Before rights are given up, while there is one thread. A folder that is missing is looked for again and again.
  /// Throws tracer::Error(kFileUnwritable).
  explicit ServeRecordings(const ServeConfig::Recordings& options);
  /// Begins to record. `left`: events that an earlier process delivered; null: there was none.
  void start(const tracer::Session& session, tracer::internal::Server& server,
             const tracer::internal::RecentEvents::Left* left);
  /// Writes what it has by now, and no more.
  void end();
  /// To be called now and then: says what has failed, goes on in new files when it is time, removes what is too much.
  void look(std::chrono::steady_clock::time_point now);
  /// Goes on in new files soon: they begin with what lives then, and no event is in both or in neither.
  void begin_anew();
  /// An object as JSON.
  std::string status() const;

 private:
  using Owner = std::optional<uid_t>;
  /// More of them are not recorded at one time.
  static constexpr std::size_t kMostOwners = 512;

  void meet(uid_t owner, std::optional<std::span<const tracer::Event>> left);
  RecordedSeries& add_series(Owner owner);
  std::size_t place_of(uid_t owner);
  void begin_anew(const std::set<Owner>& wanted);
  void keep_bounds(std::chrono::steady_clock::time_point now);
  bool keeps_newest(uid_t owner) const;
  /// Of owners of whom nothing is recorded now.
  void remove_old(uid_t owner, std::int64_t oldest_ns, std::chrono::steady_clock::time_point now);
  std::optional<std::string> outbox_problem() const;
  void say_of_outbox();
  std::string status_of_outbox() const;

  const ServeConfig::Recordings options_;
  std::shared_ptr<Rotation> rotation_;  ///< Null: nothing is recorded.
  const tracer::Session* session_ = nullptr;
  tracer::internal::Server* server_ = nullptr;
  std::map<Owner, RecordedSeries> series_;  ///< Of the whole host: without an owner.
  std::map<uid_t, std::size_t> places_;     ///< In the rotation.
  std::set<Owner> wanted_;                  ///< That go on in new files when it is known what lives.
  std::uint64_t left_out_ = 0;              ///< Owners beyond the most.
  std::map<uid_t, std::chrono::steady_clock::time_point> idle_since_;
  std::chrono::steady_clock::time_point next_look_at_disk_{};
  std::optional<std::string> said_of_outbox_;
};

}  // namespace tracerd
