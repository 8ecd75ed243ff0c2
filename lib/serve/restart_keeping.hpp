// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tracer/host.hpp>
#include <tracer/session.hpp>

#include "base/unique_fd.hpp"
#include "serve/restart_said.hpp"
#include "serve/recent_events.hpp"

namespace tracer::internal {

class KeptKernel;
class Reader;

/// What of a service outlives its process: the kernel side, its recent events, and what clients have said. Somebody
/// else, such as systemd, holds the descriptors; after a kill, a crash or an upgrade the next process gets them, and
/// goes on with the same session, so that nobody misses anything.
class Keeping {
 public:
  struct Descriptor {
    std::string name;
    UniqueFd fd;
  };
  /// Who holds the descriptors.
  struct Holder {
    std::function<void(const std::string& name, int fd)> store;
    std::function<void(const std::string& name)> drop;
    std::function<void()> wait;  ///< Until it has done all that.
    std::function<void(const std::string& line)> log;
  };
  /// Of these names are the descriptors that it stores.
  static constexpr std::string_view kPrefix = "tracer.";

  /// `handed`: what an earlier process stored; what makes no sense is dropped, and logged.
  Keeping(std::vector<Descriptor> handed, Holder holder);
  ~Keeping();
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;

  /// A session of the kernel, which goes on with the one that was left. Throws what Session's constructor throws.
  std::unique_ptr<Session> open_session(const SessionOptions& options, const UserIds& user_ids);
  /// What was left; null: nothing, or it has been given up.
  const RecentEvents::Left* left() const noexcept { return left_ ? &*left_ : nullptr; }
  /// Of the kernel's programs that are used now.
  std::uint64_t side() const noexcept { return side_; }
  RecentEvents& spool() noexcept { return *spool_; }
  Said& said() noexcept { return *said_; }
  /// Frees what only the beginning needs.
  void forget_left() noexcept;

  /// Once the session has started: stores what the next process needs.
  void store();
  /// Nothing is left for a next process.
  void end() noexcept;

 private:
  using Handed = std::map<std::string, UniqueFd, std::less<>>;
  void take(Handed handed);
  void drop(const std::string& name);
  std::string name_of_kernel(const std::string& name) const;
  void restore(Reader& reader);

  const Holder holder_;
  std::map<std::string, bool> stored_;  ///< Names that the holder has.
  std::mutex stored_mutex_;
  std::optional<RecentEvents::Left> left_;
  Said::Left left_said_;
  UniqueFd left_spool_;
  UniqueFd left_said_memory_;
  std::shared_ptr<KeptKernel> kernel_;
  std::uint64_t side_ = 0;
  std::uint64_t left_side_ = 0;
  std::string session_id_;
  std::uint32_t said_number_ = 0;
  bool gave_up_ = false;  ///< What was left can't be used.
  std::unique_ptr<RecentEvents> spool_;
  std::unique_ptr<Said> said_;
};

}  // namespace tracer::internal
