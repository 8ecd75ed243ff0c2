// SPDX-License-Identifier: Apache-2.0
#include "serve/past_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <tracer/error.hpp>

#include "base/number.hpp"
#include "stream/recording_file.hpp"

namespace tracer::internal {
namespace {

using OpenedFolder = std::unique_ptr<DIR, int (*)(DIR*)>;

OpenedFolder open_folder(int above, const char* name) {
  UniqueFd fd(::openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  OpenedFolder folder(fd ? ::fdopendir(fd.get()) : nullptr, ::closedir);
  if (folder) fd.release();
  return folder;
}

template <class F>
void for_names(DIR* folder, F&& f) {
  while (const dirent* const entry = ::readdir(folder)) f(std::string_view(entry->d_name));
}

/// Absent: another file.
std::optional<std::uint32_t> place_of(std::string_view name) {
  const std::string_view prefix = kNameOfPast;
  if (name == prefix) return 0;
  if (!name.starts_with(prefix) || name.size() <= prefix.size() || name[prefix.size()] != '.') return std::nullopt;
  return parse_number<std::uint32_t>(name.substr(prefix.size() + 1));
}

/// Its place among all, when they are given in batches.
bool is_before(const PastFile& one, const PastFile& other) {
  return std::pair(one.written_ns, one.owner) < std::pair(other.written_ns, other.owner);
}

}  // namespace

std::string name_of_past(const std::string& newest, std::uint32_t place) {
  return place == 0 ? newest : newest + '.' + std::to_string(place);
}

std::vector<uid_t> past_owners(const std::filesystem::path& folder) {
  std::vector<uid_t> owners;
  const OpenedFolder all(::opendir(folder.c_str()), ::closedir);
  if (!all) return owners;
  for_names(all.get(), [&](std::string_view name) {
    if (const auto uid = parse_number<uid_t>(name)) owners.push_back(*uid);
  });
  std::sort(owners.begin(), owners.end());
  return owners;
}

std::vector<PastFile> past_files(const std::filesystem::path& folder, uid_t owner, bool open) {
  std::vector<PastFile> files;
  const UniqueFd above(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const OpenedFolder own =
      above ? open_folder(above.get(), std::to_string(owner).c_str()) : OpenedFolder(nullptr, ::closedir);
  if (!own) return files;
  std::vector<std::uint32_t> places;
  for_names(own.get(), [&](std::string_view name) {
    if (const auto place = place_of(name)) places.push_back(*place);
  });
  std::sort(places.begin(), places.end());
  std::vector<std::pair<dev_t, ino_t>> known;
  for (const std::uint32_t place : places) {
    PastFile file{.owner = owner, .place = place};
    const std::string name = name_of_past(kNameOfPast, place);
    struct stat status {};
    if (open) {
      file.fd.reset(::openat(::dirfd(own.get()), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (!file.fd || ::fstat(file.fd.get(), &status) != 0) continue;
    } else if (::fstatat(::dirfd(own.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (!S_ISREG(status.st_mode)) continue;
    // It has got the next name since it was opened.
    const std::pair id(status.st_dev, status.st_ino);
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    known.push_back(id);
    file.bytes = static_cast<std::uint64_t>(status.st_size);
    file.disk_bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
    file.written_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    files.push_back(std::move(file));
  }
  return files;
}

PastBatch past_batch(const std::filesystem::path& folder, const std::optional<std::vector<uid_t>>& owners,
                     std::uint64_t since_ns) {
  PastBatch batch;
  batch.reply.by_owner = true;
  std::vector<PastFile> files;
  for (const uid_t owner : owners ? *owners : past_owners(folder)) {
    for (PastFile& file : past_files(folder, owner, true))
      if (std::cmp_greater_equal(file.written_ns, since_ns)) files.push_back(std::move(file));
    std::sort(files.begin(), files.end(), is_before);
    if (files.size() > 2 * PastBatch::kMost) files.resize(2 * PastBatch::kMost);
  }
  if (files.size() > PastBatch::kMost) {
    // The next batch begins behind a time: those of one time stay together, unless they are too many.
    std::size_t count = PastBatch::kMost;
    while (count != 0 && files[count - 1].written_ns == files[PastBatch::kMost].written_ns) --count;
    files.resize(count == 0 ? PastBatch::kMost : count);
    batch.reply.more = true;
  }
  for (PastFile& file : files) {
    RecordingsReply::File said{
        .owner_uid = file.owner, .bytes = file.bytes, .written_ns = static_cast<std::uint64_t>(file.written_ns)};
    batch.reply.next_ns = said.written_ns + 1;
    try {
      RecordingFile recording(file.fd.release(), {});
      said.session_id = recording.host().session_id;
      said.number = recording.header().number;
      file.fd = recording.take_file();
    } catch (const Error&) {
      // It is being begun, or damaged.
      continue;
    }
    batch.reply.files.push_back(std::move(said));
    batch.fds.push_back(std::move(file.fd));
  }
  return batch;
}

}  // namespace tracer::internal
