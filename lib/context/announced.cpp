// SPDX-License-Identifier: Apache-2.0
/// What is checked of an announcement before it is kept.
#include <sys/stat.h>
#include <unistd.h>

#include <concepts>
#include <filesystem>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/proc_stat.hpp"
#include "context/announcements.hpp"
#include "context/expiry.hpp"
#include "context/layers.hpp"

namespace tracer::internal {

namespace {

constexpr std::size_t kMostBytes = 64u << 10;
constexpr std::size_t kMostPath = 4096;
constexpr std::size_t kLeastContainerId = 12;
constexpr std::size_t kContainerId = 64;

[[noreturn]] void refuse(ErrorCode code, std::string what, std::string fix) {
  throw Error({code, 0, std::move(what), std::move(fix), {}});
}

/// Without "." and "..", repeated and trailing slashes.
std::string folder(const std::string& path, const char* what) {
  if (path.empty() || path.front() != '/' || path.size() > kMostPath || path.find('\0') != std::string::npos)
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("the {} of an announcement is not an absolute path: \"{}\"", what, path.substr(0, 200)),
           "give the whole path, from /");
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  if (normal == "/")
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("the {} of an announcement is /, which would match everything", what), "give the task's own");
  return normal;
}

void refuse_others(const char* path, const std::string& what, const Caller& caller) {
  struct stat status {};
  if (caller.uid == 0 || ::stat(path, &status) != 0 || status.st_uid == caller.uid) return;
  refuse(ErrorCode::kPermission, what + " belongs to another user", "announce it as that user, or as root");
}

/// Of the process that has the pid now, as exact as /proc says it.
ProcStat living(pid_t pid, const Caller& caller) {
  const auto stat = read_proc_stat(pid);
  if (!stat)
    refuse(ErrorCode::kFilterNamesNothing, fmt::format("no process {} lives", pid),
           "announce it while it lives, or by its work directory before it begins");
  refuse_others(fmt::format("/proc/{}", pid).c_str(), fmt::format("process {}", pid), caller);
  return *stat;
}

void add_start(Announced& announced, const OfProcess& process, const Caller& caller) {
  if (process.pid <= 0)
    refuse(ErrorCode::kInvalidArgument, fmt::format("{} is no process id", process.pid), "give that of a process");
  if (process.start_ns) {
    announced.started_from_ns = announced.started_until_ns = *process.start_ns;
    return;
  }
  const ProcStat stat = living(process.pid, caller);
  announced.started_from_ns = stat.started_from_ns;
  announced.started_until_ns = stat.started_until_ns;
}

void add_key(Announced& announced, const InWorkDir& key, const Caller& caller,
             const std::optional<JudgedFolder>& judged) {
  const std::string path = folder(key.path, "work directory");
  announced.key = "d" + path;
  announced.mount_namespace = host_mount_namespace();
  if (judged) {
    announced.folder = judged->folder;
    return;
  }
  refuse_others(path.c_str(), path, caller);
  announced.folder = folder_at(path);
  // It may have changed hands meanwhile.
  if (announced.folder && caller.uid != 0 && announced.folder->owner != caller.uid) announced.folder.reset();
}

void add_key(Announced& announced, const OfProcess& key, const Caller& caller) {
  add_start(announced, key, caller);
  announced.key = fmt::format("p{}", key.pid);
}

void add_key(Announced& announced, const InCgroup& key, const Caller&) {
  announced.key = "c" + folder(key.path, "cgroup");
}

void add_key(Announced& announced, const InContainer& key, const Caller&) {
  if (key.id.size() < kLeastContainerId || key.id.size() > kContainerId ||
      key.id.find_first_not_of("0123456789abcdef") != std::string::npos)
    refuse(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no container id", key.id.substr(0, 100)),
           "give its first 12 or all 64 hexadecimal digits");
  announced.key = "i" + key.id;
}

void add_key(Announced& announced, const InSlurmJob& key, const Caller&) {
  if (key.id.empty() || key.id.size() > kLeastContainerId ||
      key.id.find_first_not_of("0123456789") != std::string::npos)
    refuse(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no Slurm job id", key.id.substr(0, 100)),
           "give its number, as SLURM_JOB_ID has it");
  announced.key = "lslurm_job=" + key.id;
}

void add_key(Announced& announced, const BelowProcess& key, const Caller& caller) {
  add_start(announced, key.process, caller);
  announced.key = fmt::format("b{}", key.process.pid);
  for (const std::string& word : key.argv) announced.key.append(1, '\0').append(word);
  try {
    announced.argv.emplace(key.argv);
  } catch (const std::invalid_argument& error) {
    refuse(ErrorCode::kInvalidArgument, fmt::format("a pattern of an announcement: {}", error.what()), {});
  }
  if (!announced.argv->says_something())
    refuse(ErrorCode::kInvalidArgument, "the pattern of an announcement matches everything",
           "give a word that only the task's arguments have");
}

}  // namespace

Announced checked(const Announcement& announcement, const Caller& caller, const std::optional<JudgedFolder>& judged) {
  Announced announced;
  std::visit(
      [&](const auto& key) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(key)>, InWorkDir>) {
          add_key(announced, key, caller, judged);
        } else {
          add_key(announced, key, caller);
        }
      },
      announcement.key);
  Context context = announcement.context;
  bound(context);
  Context given = context;
  given.owner_uid.reset();
  if (given == Context{} && announcement.requested == Requested{})
    refuse(ErrorCode::kInvalidArgument, "an announcement that gives nothing",
           "give a task, a run, a sample or a label");
  announced.uid = caller.uid;
  announced.packed = packed(context, announcement.requested);
  if (announced.packed.size() + announced.key.size() > kMostBytes)
    refuse(ErrorCode::kInvalidArgument, fmt::format("an announcement of {} bytes", announced.packed.size()),
           fmt::format("keep it to {}", kMostBytes));
  announced.expires_after_ns = expiry_ns(announcement.expires_after, "an announcement");
  announced.key.shrink_to_fit();
  return announced;
}

}  // namespace tracer::internal
