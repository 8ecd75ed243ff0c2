// SPDX-License-Identifier: Apache-2.0
#include "files/outbox.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tracer/error.hpp>

#include "base/json_text.hpp"
#include "serve/past_files.hpp"
#include "stream/recording_file.hpp"

namespace tracerd {

using tracer::internal::UniqueFd;

namespace {

using OpenedFolder = std::unique_ptr<DIR, int (*)(DIR*)>;

constexpr mode_t kUnsealed = 0600;
constexpr mode_t kSealed = 0640;

UniqueFd open_below(int above, const char* name) {
  return UniqueFd(::openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return names;
  const OpenedFolder opened(::fdopendir(own), ::closedir);
  while (const dirent* const entry = ::readdir(opened.get()))
    if (std::string_view(entry->d_name) != "." && std::string_view(entry->d_name) != "..")
      names.emplace_back(entry->d_name);
  return names;
}

/// Calls visit(folder, its path, name) for what is in HOST/BOOT/UID.
template <class Visit>
void walk(int folder, const std::string& path, int depth, Visit& visit) {
  for (const std::string& name : names_in(folder)) {
    if (depth == 0) {
      visit(folder, path, name);
    } else if (const UniqueFd below = open_below(folder, name.c_str())) {
      walk(below.get(), path + name + '/', depth - 1, visit);
    }
  }
}
template <class Visit>
void walk(const std::filesystem::path& folder, Visit visit) {
  const UniqueFd top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (top) walk(top.get(), "", 3, visit);
}

std::int64_t written_ns(const struct stat& file) { return file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec; }

/// As the name of a file or folder.
std::string as_name(std::string name) {
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!is_plain || (c == '.' && &c == name.data())) c = '-';
  }
  return name.empty() ? "-" : name;
}

/// Gives it its name, in place of the hidden one. What has that name stays: EEXIST, if it is another.
int show(int folder, const std::string& hidden) {
  struct stat own {};
  struct stat other {};
  const char* const name = hidden.c_str() + 1;
  if (::linkat(folder, hidden.c_str(), folder, name, 0) != 0) {
    const int failed = errno;
    if (failed != EEXIST || ::fstatat(folder, hidden.c_str(), &own, AT_SYMLINK_NOFOLLOW) != 0 ||
        ::fstatat(folder, name, &other, AT_SYMLINK_NOFOLLOW) != 0 || own.st_ino != other.st_ino)
      return failed;
  }
  ::unlinkat(folder, hidden.c_str(), 0);
  return 0;
}

/// What the gap before says; null: there is none, or somebody else has put it there.
nlohmann::json read_gap(int folder, const std::string& name) {
  const UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  char text[4096];
  const ssize_t got = file ? ::read(file.get(), text, sizeof text) : -1;
  return got <= 0 ? nlohmann::json() : nlohmann::json::parse(text, text + got, nullptr, false);
}

}  // namespace

std::string Outbox::Part::name(std::uint64_t of, const char* kind) const {
  return fmt::format("{}-{:08}.{}", session, of, kind);
}

std::optional<Outbox::Part> Outbox::part_of(int folder, const std::string& file) {
  UniqueFd fd(::openat(folder, file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  try {
    tracer::internal::RecordingFile recording(fd.release(), {});
    Part part;
    part.number = recording.header().number;
    part.owner_uid = recording.header().owner_uid;
    part.host = recording.host();
    if (part.number == 0 || part.host.session_id.empty()) return std::nullopt;
    part.folders = {as_name(part.host.host_name), as_name(part.host.boot_id),
                    part.owner_uid ? std::to_string(*part.owner_uid) : "all"};
    part.session = as_name(part.host.session_id);
    // With its first frame, it has a time.
    recording.next_frame(tracer::internal::RecordingFile::Wait::kNever);
    part.begin_ns = recording.closed_ns() + part.host.wall_offset_ns;
    part.end_ns = static_cast<std::uint64_t>(written_ns(status));
    return part;
  } catch (const tracer::Error&) {
    // It has no header: it was being begun, and the next file has its number.
    return std::nullopt;
  }
}

/// Each folder that is made lets the group take files, whatever the umask is; that it hands its group on, a seccomp
/// filter may refuse.
int Outbox::open_folder_of(const Part& part, UniqueFd& folder) const {
  const auto enter = [&](const char* name, int above, int follow) {
    const bool made = ::mkdirat(above, name, 0700) == 0;
    UniqueFd next(::openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow));
    if (!next) return false;
    if (made) {
      struct stat status {};
      ::fstat(next.get(), &status);
      if (options_.group && status.st_gid != *options_.group &&
          ::fchown(next.get(), static_cast<uid_t>(-1), *options_.group) != 0)
        return false;
      if (::fchmod(next.get(), 02770) != 0 && ::fchmod(next.get(), 0770) != 0) return false;
      ::fsync(above);
    }
    folder = std::move(next);
    return true;
  };
  if (!enter(options_.folder.c_str(), AT_FDCWD, 0)) return errno;
  for (const std::string& name : part.folders)
    if (!enter(name.c_str(), folder.get(), O_NOFOLLOW)) return errno;
  return 0;
}

void Outbox::count(int error_number) {
  counts_.error_number = error_number;
  if (error_number != 0) ++counts_.failures;
}

/// Whatever ends this process, a part is unsealed, has its hidden name, which take_up() finishes, or both of its names.
int Outbox::seal_one(int folder, const std::string& file) {
  const UniqueFd fd(::openat(folder, file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  const auto part = part_of(folder, file);
  if (!fd || !part || ::fstat(fd.get(), &status) != 0) return 0;
  UniqueFd into;
  if (const int failed = open_folder_of(*part, into); failed != 0) return failed;
  struct stat above {};
  if (::fsync(fd.get()) != 0 || ::fstat(into.get(), &above) != 0) return errno;
  const gid_t group = options_.group.value_or(above.st_gid);
  if (status.st_gid != group && ::fchown(fd.get(), static_cast<uid_t>(-1), group) != 0) return errno;
  const std::string name = part->name(part->number, "tracer");
  const std::string hidden = '.' + name;
  ::unlinkat(into.get(), hidden.c_str(), 0);
  if (::linkat(folder, file.c_str(), into.get(), hidden.c_str(), 0) != 0) return errno;
  int failed = ::fsync(into.get()) != 0 || ::fchmod(fd.get(), kSealed) != 0 ? errno : 0;
  if (failed == 0) failed = show(into.get(), hidden);
  if (failed == 0) {
    if (at_most_bytes_) *at_most_bytes_ += static_cast<std::uint64_t>(status.st_size);
    return ::fsync(into.get()) == 0 ? 0 : errno;
  }
  // So that it is tried again.
  ::fchmod(fd.get(), kUnsealed);
  ::unlinkat(into.get(), hidden.c_str(), 0);
  return failed;
}

void Outbox::seal(int folder, const std::string& name, bool newest) {
  if (!exists()) return;
  const auto file = [&name](std::uint32_t number) { return tracer::internal::name_of_past(name, number); };
  struct stat status {};
  std::uint32_t end = 1;
  while (::fstatat(folder, file(end).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) ++end;
  int failed = 0;
  while (end-- > (newest ? 0u : 1u)) {
    if (::fstatat(folder, file(end).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && (status.st_mode & 0777) == kSealed)
      continue;
    if (const int error_number = seal_one(folder, file(end)); error_number != 0) failed = error_number;
  }
  count(failed);
  keep_bound();
  note_lost();
}

void Outbox::take_up(const std::string& folder, const std::string& name) {
  if (!exists()) return;
  walk(options_.folder, [](int in, const std::string&, const std::string& left) {
    if (left.front() != '.') return;
    // A part that was being sealed or removed is there, and a gap is written anew.
    if (left.ends_with(".tracer")) show(in, left);
    if (left.ends_with(".gap")) ::unlinkat(in, left.c_str(), 0);
  });
  const UniqueFd all(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!all) return;
  seal(all.get(), name, true);
  for (const uid_t owner : tracer::internal::past_owners(folder))
    if (const UniqueFd own = open_below(all.get(), std::to_string(owner).c_str())) seal(own.get(), name, true);
}

void Outbox::forget(int folder, const std::string& file) {
  struct stat status {};
  if (!exists() || ::fstatat(folder, file.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      (status.st_mode & 0777) == kSealed)
    return;
  if (const auto part = part_of(folder, file)) lost_.push_back({*part, "not_sealed"});
  note_lost();
}

/// Those that fail, such as on a full disk, are noted later. Until then a part keeps its hidden name, unless the disk
/// has room once it is gone.
void Outbox::note_lost() {
  std::erase_if(lost_, [this](const Lost& lost) {
    const std::string hidden = '.' + lost.part.name(lost.part.number, "tracer");
    UniqueFd folder;
    if (open_folder_of(lost.part, folder) != 0) return false;
    bool noted = note_gap(folder.get(), lost.part, lost.cause);
    struct stat status {};
    if (!noted && ::fstatat(folder.get(), hidden.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_nlink == 1) {
      ::unlinkat(folder.get(), hidden.c_str(), 0);
      noted = note_gap(folder.get(), lost.part, lost.cause);
    }
    if (noted) ::unlinkat(folder.get(), hidden.c_str(), 0);
    return noted;
  });
}

/// One that goes on has a new name, then the name before goes: what a name stands for never changes.
bool Outbox::note_gap(int folder, const Part& part, const char* cause) {
  std::uint64_t first = part.number;
  std::uint64_t begin_ns = part.begin_ns;
  const std::string before = part.name(part.number - 1, "gap");
  const nlohmann::json said = read_gap(folder, before);
  const bool goes_on = said.is_object() && said.value("cause", nlohmann::json()) == cause &&
                       said.value("first", nlohmann::json()).is_number_unsigned() &&
                       said.value("first_unix_ns", nlohmann::json()).is_number_unsigned();
  if (goes_on) {
    first = said["first"];
    begin_ns = said["first_unix_ns"];
  }
  std::string text = "{\"schema\":1,\"session_id\":";
  tracer::internal::append_json_text(text, part.host.session_id);
  text += ",\"owner_uid\":" + (part.owner_uid ? std::to_string(*part.owner_uid) : "null") + ",\"host\":";
  tracer::internal::append_json_text(text, part.host.host_name);
  text += ",\"boot_id\":";
  tracer::internal::append_json_text(text, part.host.boot_id);
  text += fmt::format(",\"first\":{},\"last\":{},\"cause\":\"{}\",\"first_unix_ns\":{},\"last_unix_ns\":{}}}\n", first,
                      part.number, cause, begin_ns, part.end_ns);
  const std::string name = part.name(part.number, "gap");
  const std::string unfinished = '.' + name;
  ::unlinkat(folder, unfinished.c_str(), 0);
  const UniqueFd file(::openat(folder, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kUnsealed));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return false;
  if (options_.group) static_cast<void>(::fchown(file.get(), static_cast<uid_t>(-1), *options_.group) == 0);
  if (::fchmod(file.get(), kSealed) != 0 || ::fsync(file.get()) != 0 ||
      ::renameat(folder, unfinished.c_str(), folder, name.c_str()) != 0)
    return false;
  ::fsync(folder);
  if (goes_on) ::unlinkat(folder, before.c_str(), 0);
  return true;
}

/// The oldest go. A part that is removed has a hidden name before, so that nobody ships what a gap says is missing.
void Outbox::keep_bound() {
  if (at_most_bytes_.value_or(UINT64_MAX) <= options_.most_bytes) return;
  struct Waiting {
    std::int64_t written_ns;
    std::string path;
    std::string name;
    std::uint64_t bytes;
    auto operator<=>(const Waiting&) const = default;
  };
  std::vector<Waiting> all;
  std::uint64_t bytes = 0;
  walk(options_.folder, [&](int folder, const std::string& path, const std::string& name) {
    struct stat status {};
    if (!name.ends_with(".tracer") || ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    all.push_back({written_ns(status), path, name, static_cast<std::uint64_t>(status.st_size)});
    bytes += all.back().bytes;
  });
  std::sort(all.begin(), all.end());
  // With some room, as to look at all of them takes its time.
  const std::uint64_t most = bytes <= options_.most_bytes ? bytes : options_.most_bytes - options_.most_bytes / 32;
  for (auto oldest = all.begin(); bytes > most && oldest != all.end(); ++oldest) {
    bytes -= oldest->bytes;
    const UniqueFd top(::open(options_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    UniqueFd folder;
    for (std::size_t at = 0, end; (end = oldest->path.find('/', at)) != std::string::npos; at = end + 1)
      folder = open_below(folder ? folder.get() : top.get(), oldest->path.substr(at, end - at).c_str());
    const std::string hidden = '.' + oldest->name;
    if (!folder || ::renameat(folder.get(), oldest->name.c_str(), folder.get(), hidden.c_str()) != 0) continue;
    // It stays until its gap is noted.
    if (const auto part = part_of(folder.get(), hidden)) {
      lost_.push_back({*part, "outbox_full"});
    } else {
      ::unlinkat(folder.get(), hidden.c_str(), 0);
    }
    ++counts_.removed;
  }
  at_most_bytes_ = bytes;
}

Outbox::State Outbox::state_of(const std::filesystem::path& folder) {
  State state;
  walk(folder, [&state](int in, const std::string&, const std::string& name) {
    struct stat status {};
    if (name.front() == '.' || ::fstatat(in, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (name.ends_with(".gap")) ++state.gaps;
    if (!name.ends_with(".tracer")) return;
    ++state.parts;
    state.bytes += static_cast<std::uint64_t>(status.st_size);
    state.oldest_ns = std::min(state.oldest_ns.value_or(INT64_MAX), written_ns(status));
  });
  return state;
}

bool Outbox::is_elsewhere(const std::filesystem::path& folder, const std::filesystem::path& outbox) {
  // Two mounts of one file system are two here: no link leads from one to the other.
  const auto mount_of = [](const std::filesystem::path& path, struct statx& found) {
    return ::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS | STATX_MNT_ID, &found) == 0;
  };
  struct statx one {};
  struct statx other {};
  if (!mount_of(folder, one) || (!mount_of(outbox, other) && !mount_of(outbox.parent_path(), other))) return false;
  return one.stx_dev_major != other.stx_dev_major || one.stx_dev_minor != other.stx_dev_minor ||
         one.stx_mnt_id != other.stx_mnt_id;
}

}  // namespace tracerd
