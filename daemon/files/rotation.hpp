// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tracer/run.hpp>

#include "files/named_file.hpp"
#include "files/outbox.hpp"

namespace tracerd {

/// Gives files their next names, NAME.1 to NAME.N, the newest first, and makes NAME anew. A process of its own does it,
/// with the rights that the files were opened with: this one has given them up by then.
class Rotation {
 public:
  static constexpr std::uint32_t kKeepAll = 0;

  /// What a service wants, which goes on for years.
  struct Lasting {
    /// Older ones are removed, too, judged by when each was written last, before the next one: at least four of them
    /// are written in this time. A longer time between two of them, when nothing was written or the clock has jumped,
    /// counts as a quarter of it: no jump removes all of them. 0: none is removed.
    std::chrono::seconds max_age{};
    /// A folder that is missing, or is another one by now, is looked for again by next().
    bool folder_may_come = false;
    /// For add_owner().
    std::string folder_of_owners = {};
    /// Older ones that take more, with NAME, are removed; 0: none.
    std::uint64_t most_bytes = 0;
    /// Those that are sealed get a name in it, too.
    Outbox::Options outbox = {};
  };

  /// `keep`: the N; kKeepAll: as many as there are. Absent `user`: the rights of now. To be made while there is one
  /// thread. Throws tracer::Error: kInternal, kPermission, kFileUnwritable.
  Rotation(const std::optional<tracer::User>& user, const std::vector<std::string>& files, std::uint32_t keep,
           Lasting lasting);
  Rotation(const std::optional<tracer::User>& user, const std::vector<std::string>& files, std::uint32_t keep)
      : Rotation(user, files, keep, Lasting()) {}
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  /// A descriptor of the new file, or -1 and errno. From any thread. `which`: its place in `files`.
  int next(std::size_t which);
  /// For the outbox: nothing is added to the older ones any more; `newest`: to NAME neither. From any thread.
  void seal(std::size_t which, bool newest);
  Outbox::Counts outbox() const;
  /// The files of one more owner, in a folder of that number that only root can read, which is made for the first of
  /// them. Returns its `which`.
  std::size_t add_owner(uid_t uid);
  /// The one with the highest number; `all`: where there is none, also NAME itself, to which nobody writes then. False:
  /// there is none.
  bool remove_oldest(std::size_t which, bool all);
  /// Files that are there no more, since there are newer ones.
  std::uint64_t removed(std::size_t which) const;
  /// Somebody else has moved or replaced one that was written to, then or since. `first`: what stood there at first.
  /// For the thread that traces, which may look into the folder.
  bool moved(std::size_t which, const std::optional<NamedFile>& first) const;

 private:
  const std::string folder_of_owners_;
  mutable std::mutex mutex_;
  int socket_ = -1;
  pid_t helper_ = -1;
  const bool has_outbox_;
  Outbox::Counts outbox_;
  struct Name {
    std::string path;
    std::uint64_t removed = 0;
    bool moved = false;                    ///< One of those before.
    std::optional<NamedFile> newest = {};  ///< Absent: it is still the first.
  };
  std::vector<Name> names_;
};

}  // namespace tracerd
