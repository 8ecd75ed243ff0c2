// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/process.hpp>

#include "base/caller.hpp"
#include "base/counter.hpp"
#include "base/cpu_shares.hpp"
#include "base/folder.hpp"
#include "base/user_ids.hpp"
#include "context/announcement_shares.hpp"
#include "context/scope.hpp"
#include "rules/pattern.hpp"

namespace tracer::internal {

/// An announcement that was checked, as it is kept: small, as there may be many.
struct Announced {
  std::string key = {};     ///< See Announcements.
  std::string packed = {};  ///< Context and Requested.
  std::optional<WordsPattern> argv = {};
  std::uint64_t started_from_ns = 0;  ///< Of the process that the key names.
  std::uint64_t started_until_ns = ~std::uint64_t{0};
  std::uint64_t expires_after_ns = 0;
  uid_t uid = 0;                      ///< Who announced it. Not 0: it says nothing of other users' processes.
  std::optional<Folder> folder = {};  ///< Of a work directory: that was there.
  std::uint32_t mount_namespace = 0;  ///< In which the path of a work directory is meant; 0: not known.

  AnnouncementCost cost() const;
};

std::string packed(const Context& context, const Requested& requested);
Context context_in(const std::string& packed);

/// One announcement among those that there are.
struct AnnouncementName {
  uid_t uid = 0;
  std::string key = {};
  std::shared_ptr<const Context> task = Process::no_context();  ///< That it spoke of. Never null.
};

/// The folder by which it was judged whether the caller may announce a work directory. What its path leads to may be
/// another by now.
struct JudgedFolder {
  std::optional<Folder> folder = {};  ///< As Announced::folder.
};

/// Throws Error: kInvalidArgument; kFilterNamesNothing for a process that is gone; kPermission for another user's
/// folder or process, unless the caller is root. `judged`: whose the work directory is was found out before.
Announced checked(const Announcement& announcement, const Caller& caller,
                  const std::optional<JudgedFolder>& judged = {});

/// What was announced. Each key is one word: what it is about, and its path, number or name: "d/data/ab/cdef" of a work
/// directory, "c/slurm/job_1" of a cgroup, "i…" of a container, "lslurm_job=1" of a label, "p12" of a process, "b12…"
/// of descendants of one. One thread at a time, but for the counters.
class Announcements {
 public:
  /// What comparing arguments with patterns may take of the thread that reads events.
  using PatternShares = SharesOfCpu<20>;
  struct Known {
    std::string packed = {};
    std::weak_ptr<Scope> scope = {};  ///< That it was said of.
    std::uint64_t started_from_ns = 0;
    std::uint64_t started_until_ns = ~std::uint64_t{0};
    std::uint64_t expires_ns = 0;
    uid_t uid = 0;                      ///< As in Announced.
    std::optional<Folder> folder = {};  ///< Likewise, or as one of the announcer's processes has it.
    std::uint32_t mount_namespace = 0;  ///< As in Announced.
    AnnouncementCost cost = {};
    bool met = false;
    bool said = false;  ///< `packed`, of `scope`.

    Context context() const;
    Requested requested() const;
  };

  /// Both must outlive this.
  Announcements(std::size_t capacity, const UserIds& user_ids, AnnouncementShares& shares)
      : capacity_(capacity), user_ids_(user_ids), shares_(shares) {}

  /// Replaces one of the same user and key. Its cost was taken of the shares. False: there are too many.
  bool add(Announced announced, std::uint64_t now_ns);
  /// Changes with each add().
  std::uint64_t epoch() const noexcept { return epoch_; }
  bool empty() const noexcept { return size() == 0; }

  using Found = std::function<void(Known&, std::string_view key)>;
  /// Calls found for each that is about a process which runs this program, the widest first. `folder`: where it works;
  /// in a container, the same path may lead to another one than was meant. Absent: not known.
  void find(const Process& process, const std::optional<Folder>& folder, const std::vector<Label>& labels,
            const Found& found);
  /// Likewise for those about descendants of `ancestor`; compares with so many of them at most, and returns with how
  /// many.
  std::size_t find_below(const Process& ancestor, const Process& process, std::size_t most, const Found& found);
  bool any_below() const noexcept { return !below_.empty(); }
  bool any_of_labels() const noexcept { return has('l'); }

  /// Its task is over. One that speaks of another task by now stays.
  void remove(const AnnouncementName& name);
  /// The process has ended; what named it alone is of no use any more.
  void ended(const Process& process);
  /// Drops those whose time is over, unless the scope that they were said of lives.
  void expire(std::uint64_t now_ns);

  // From any thread.
  std::uint64_t met() const noexcept { return met_.value(); }
  std::uint64_t expired() const noexcept { return expired_.value(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Map = std::unordered_multimap<std::string, Known, Hash, std::equal_to<>>;
  struct Below {
    WordsPattern argv;
    Known known;
    std::string key;
  };

  template <class Done>
  void drop_if(Done done);
  void drop_done(std::uint64_t now_ns);
  void found_in(const std::string& key, const Process& process, const std::optional<Folder>& folder,
                const Found& found);
  void found_along(char kind, std::string_view path, const Process& process, const std::optional<Folder>& folder,
                   const Found& found);
  bool is_about(Known& known, const Process& process, const std::optional<Folder>& folder);
  bool refuse(const Known& known);
  static void go_on(Known& known, const Known& before);
  bool may_speak_for(const Known& known, const Process& process) const noexcept;
  void meet(Known& known, std::string_view key, const Found& found);
  std::size_t size() const noexcept { return known_.size() + below_.size(); }
  std::size_t& count_of(char kind) noexcept { return of_kind_[static_cast<unsigned char>(kind)]; }
  bool has(char kind) const noexcept { return of_kind_[static_cast<unsigned char>(kind)] != 0; }

  const std::size_t capacity_;
  const UserIds& user_ids_;
  AnnouncementShares& shares_;
  Map known_;  ///< Of each user one with the same key.
  PatternShares pattern_shares_;
  std::unordered_multimap<std::uint32_t, Below> below_;  ///< By the pid of the ancestor.
  std::uint64_t epoch_ = 0;
  std::uint64_t next_drop_ns_ = 0;
  std::uint64_t next_expiry_ns_ = ~std::uint64_t{0};
  std::array<std::size_t, 256> of_kind_{};  ///< How many there are in known_, by the kind of the key.
  std::string scratch_;
  Counter met_;
  Counter expired_;
};

}  // namespace tracer::internal
