// SPDX-License-Identifier: Apache-2.0
#include "serve/own_things.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/folder.hpp"
#include "base/proc_stat.hpp"
#include "base/unique_fd.hpp"

namespace tracer::internal {
namespace {

[[noreturn]] void refuse_others(std::string what, std::string fix) {
  throw Error({ErrorCode::kPermission, EPERM, std::move(what), std::move(fix), {}});
}
[[noreturn]] void refuse_missing(std::string what) {
  throw Error({ErrorCode::kFilterNamesNothing, ESRCH, std::move(what), "name one that is there", {}});
}

UniqueFd open_without_links(const std::string& path, int above = AT_FDCWD, std::uint64_t more = 0) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | more;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, above, path.c_str(), &how, sizeof how)));
}

/// The fields of /proc/.../status that say whose it is, and how it is called inside.
struct ProcStatus {
  std::optional<uid_t> real_uid;
  std::optional<pid_t> inner_id;  ///< In its own pid namespace.
};

template <class Number>
std::optional<Number> first_number(std::string_view text) {
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  Number number{};
  if (std::from_chars(text.data() + begin, text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

ProcStatus read_status(const std::string& path) {
  ProcStatus status;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = line;
    if (text.starts_with("Uid:")) status.real_uid = first_number<uid_t>(text.substr(4));
    if (text.starts_with("NSpid:")) status.inner_id = first_number<pid_t>(text.substr(text.find_last_of('\t')));
  }
  return status;
}

}  // namespace

JudgedFolder require_own_folder(const Peer& peer, const std::string& path) {
  if (peer.uid == 0) return {folder_at(path)};
  std::filesystem::path place = std::filesystem::path(path).lexically_normal();
  if (!place.is_absolute())
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "the work directory of an announcement is not an absolute path",
                 "give the whole path, from /",
                 {}});
  // One answer, whatever is there: it would say what is in folders that the peer can't look into.
  const auto refuse = [&path] {
    refuse_others(fmt::format("{} is not yours", path),
                  "announce a folder of your own, or one that you make in it later, by a path without links");
  };
  for (bool is_there = true;; is_there = false) {
    const UniqueFd folder = open_without_links(place.string());
    struct stat status {};
    if (folder && ::fstat(folder.get(), &status) == 0) {
      if (status.st_uid != peer.uid) refuse();
      return is_there ? JudgedFolder{folder_of(folder)} : JudgedFolder{};
    }
    if (errno != ENOENT || !place.has_relative_path()) refuse();
    place = place.parent_path();
  }
}

void require_own_process(const Peer& peer, pid_t pid) {
  if (pid <= 0) refuse_missing(fmt::format("{} is no process id", pid));
  const ProcStatus status = read_status(fmt::format("/proc/{}/status", pid));
  if (!status.real_uid) refuse_missing(fmt::format("no process {} lives", pid));
  if (peer.uid != 0 && *status.real_uid != peer.uid)
    refuse_others(fmt::format("process {} belongs to another user", pid), "name one of your own");
}

pid_t require_own_thread(const Peer& peer, pid_t tid) {
  require_own_process(peer, peer.pid);
  const std::string threads = fmt::format("/proc/{}/task", peer.pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(threads.c_str()), ::closedir);
  // By the number within, as the client may be in a container: most often both are the same.
  const auto is_it = [&](pid_t thread) {
    return read_status(fmt::format("{}/{}/status", threads, thread)).inner_id == tid;
  };
  if (tid > 0 && is_it(tid)) return tid;
  while (const dirent* const entry = folder ? ::readdir(folder.get()) : nullptr) {
    const auto thread = first_number<pid_t>(entry->d_name);
    if (thread && is_it(*thread)) return *thread;
  }
  refuse_missing(fmt::format("{} is no thread of the process that connected", tid));
}

namespace {

using Judged = std::optional<JudgedFolder>;

Judged require_own(const Peer& peer, const InWorkDir& key) { return require_own_folder(peer, key.path); }

Judged require_own(const Peer& peer, const OfProcess& key) {
  require_own_process(peer, key.pid);
  const auto stat = read_proc_stat(key.pid);
  if (!stat) refuse_missing(fmt::format("no process {} lives", key.pid));
  // By guess, it could be one that has its pid later.
  if (key.start_ns && (*key.start_ns < stat->started_from_ns || *key.start_ns > stat->started_until_ns))
    refuse_missing(fmt::format("process {} began at another time", key.pid));
  return std::nullopt;
}

Judged require_own(const Peer& peer, const BelowProcess& key) { return require_own(peer, key.process); }

Judged require_own(const Peer& peer, const InCgroup& key) {
  if (key.path.empty() || key.path.front() != '/') return std::nullopt;  // Refused for that.
  for (const char* hierarchy : {"/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"}) {
    const UniqueFd top = open_without_links(hierarchy);
    const UniqueFd folder = top ? open_without_links("." + key.path, top.get(), RESOLVE_BENEATH) : UniqueFd();
    struct stat status {};
    if (folder && ::fstat(folder.get(), &status) == 0 && status.st_uid == peer.uid) return std::nullopt;
  }
  refuse_others("that cgroup belongs to another user", "announce the work folder, or ask root to announce the cgroup");
}

Judged require_own(const Peer&, const InContainer&) {
  refuse_others("only root may announce containers by their ids", "announce the work folder");
}

Judged require_own(const Peer&, const InSlurmJob&) {
  refuse_others("only root may announce Slurm jobs by their numbers", "announce the work folder");
}

}  // namespace

std::optional<JudgedFolder> require_own(const Peer& peer, const AnnouncementKey& key) {
  if (peer.uid == 0) return std::nullopt;
  return std::visit([&](const auto& one) { return require_own(peer, one); }, key);
}

}  // namespace tracer::internal
