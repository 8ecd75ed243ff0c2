// SPDX-License-Identifier: Apache-2.0
#include "context/note_reader.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/folder.hpp"
#include "base/proc_stat.hpp"
#include "base/read_at.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace tracer::internal {
namespace {

constexpr int kMostNames = 10000;

/// Links in `path` lead nowhere outside of `root`: who wrote it may want another file to be read. Since Linux 5.6.
UniqueFd open_below(const std::string& root, const std::string& path, int flags) {
  const UniqueFd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {};
  struct open_how how = {};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
}

struct CloseListing {
  void operator()(DIR* listing) const { ::closedir(listing); }
};

/// Of the names in `folder` that match, the one that sorts last.
std::string last_name(UniqueFd folder, std::string_view glob) {
  std::string last;
  const std::unique_ptr<DIR, CloseListing> listing(::fdopendir(folder.get()));
  if (!listing) return last;
  folder.release();
  for (int seen = 0; seen < kMostNames; ++seen) {
    const dirent* entry = ::readdir(listing.get());
    if (entry == nullptr) break;
    if (glob_matches(glob, entry->d_name) && last < entry->d_name) last = entry->d_name;
  }
  return last;
}

UniqueFd open_note(const std::string& root, std::string path) {
  const std::size_t name = path.rfind('/') + 1;
  if (path.find('*', name) != std::string::npos) {
    UniqueFd folder = open_below(root, path.substr(0, name), O_DIRECTORY);
    const std::string last = folder ? last_name(std::move(folder), path.substr(name)) : std::string();
    if (last.empty()) return {};
    path = path.substr(0, name) + last;
  }
  return open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
}

template <class Open>
UniqueFd seen_by(const Process& process, const Open& open) {
  UniqueFd file = open("/proc/" + std::to_string(process.pid) + "/root");
  // One that has ended had the host's files only if it was in no container.
  return file || process.mount_namespace != host_mount_namespace() ? std::move(file) : open("/");
}

bool is_whole(const NoteRequest& request, const std::vector<std::string>& lines) noexcept {
  std::size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size() + 1;
  return lines.size() < request.most_lines && bytes < kMostNoteBytes;
}

}  // namespace

std::optional<std::vector<std::string>> read_note_lines(const NoteRequest& request, const Process& process) {
  const UniqueFd file = seen_by(process, [&](const std::string& root) { return open_note(root, request.path); });
  struct stat about = {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != process.uid)
    return std::nullopt;
  constexpr auto kMost = static_cast<off_t>(kMostNoteBytes);
  const off_t from = request.from_the_end ? std::max<off_t>(about.st_size - kMost, 0) : 0;
  std::string text(kMostNoteBytes, '\0');
  text.resize(read_at(file.get(), std::as_writable_bytes(std::span(text)), from));
  std::vector<std::string> lines;
  for (std::string_view rest = text; !rest.empty();) {
    if (!request.from_the_end && lines.size() == request.most_lines) break;
    const std::size_t end = rest.find('\n');
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (lines.size() > request.most_lines)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(request.most_lines));
  return lines;
}

std::optional<std::uint64_t> file_bytes(const std::string& path, const Process& process) {
  const UniqueFd file = seen_by(process, [&](const std::string& root) { return open_below(root, path, O_PATH); });
  struct stat about = {};
  // By its size alone, nobody is to learn of files that they may not see.
  const bool may = file && ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) &&
                   (process.uid == 0 || about.st_uid == process.uid);
  return may ? std::optional(static_cast<std::uint64_t>(about.st_size)) : std::nullopt;
}

NoteAnswer read_notes(const NoteRequest& request, const Process& process) {
  NoteAnswer answer{.lines = read_note_lines(request, process)};
  answer.in_time = lives(process.pid, process.start_ns);
  answer.whole = answer.lines && is_whole(request, *answer.lines);
  return answer;
}

}  // namespace tracer::internal
