// SPDX-License-Identifier: Apache-2.0
#include "correlate/progress_table.hpp"

#include <algorithm>
#include <utility>

#include "base/most_processes.hpp"

namespace tracer::internal {
namespace {

/// Of what may be any number.
std::uint64_t to_count(double value) {
  constexpr double kMost = 9e18;
  return static_cast<std::uint64_t>(std::clamp(value, 0.0, kMost));
}

std::uint64_t bytes_left(const FileRecord& file) {
  return file.size_bytes - std::min(file.size_bytes, file.position_bytes);
}

}  // namespace

/// A file that is written is as long as its writer has come: it says nothing of what is left.
void ProgressTable::add(FileRecord file) {
  if (!file.readable || file.writable || file.position_bytes == 0) return;
  if (now_.size() >= kMostLivingProcesses && !now_.contains(file.pid)) return;
  std::vector<FileRecord>& files = now_[file.pid];
  if (!files.empty() && files.front().start_ns != file.start_ns) files.clear();
  const auto again = std::find_if(files.begin(), files.end(), [&](const auto& each) { return same_file(each, file); });
  if (again != files.end()) {
    *again = std::move(file);
  } else if (files.size() < kMostFiles) {
    files.push_back(std::move(file));
  }
}

bool ProgressTable::same_file(const FileRecord& a, const FileRecord& b) {
  return a.start_ns == b.start_ns && a.inode == b.inode && a.device == b.device && a.fd == b.fd;
}

const ProgressTable::File* ProgressTable::known(const FileRecord& file) const {
  const auto files = before_.find(file.pid);
  if (files == before_.end()) return nullptr;
  for (const File& each : files->second)
    if (same_file(each.last, file)) return &each;
  return nullptr;
}

/// What is known of it, with this.
ProgressTable::File ProgressTable::joined(const FileRecord& file) const {
  const File* before = known(file);
  // One that has gone back begins anew: what jumps about in a file has no progress.
  if (before == nullptr || file.position_bytes < before->last.position_bytes)
    return {file, {file.time_ns, file.position_bytes}, before != nullptr && before->grows, false};
  File after = *before;
  after.grows = after.grows || file.size_bytes != before->last.size_bytes;
  after.moved = after.moved || file.position_bytes > before->last.position_bytes;
  // A rate of one short round says little of what reads in bursts.
  if (before->last.time_ns >= after.base.time_ns + kRateNs)
    after.base = {before->last.time_ns, before->last.position_bytes};
  after.last = file;
  return after;
}

std::optional<Progress> ProgressTable::of(std::uint32_t pid, std::uint64_t start_ns) const {
  const auto now = now_.find(pid);
  if (now == now_.end()) return std::nullopt;
  std::optional<File> shown;
  const auto rank = [](const File& file) {
    return std::pair(file.last.position_bytes > file.base.bytes, bytes_left(file.last));
  };
  for (const FileRecord& record : now->second) {
    if (record.start_ns != start_ns) continue;
    File file = joined(record);
    // What is read to its end, such as a reference, is being worked on, for nobody knows how long.
    if (!file.moved || file.grows || bytes_left(record) == 0) continue;
    if (!shown || rank(file) > rank(*shown)) shown = std::move(file);
  }
  if (!shown) return std::nullopt;
  const FileRecord& file = shown->last;
  Progress progress;
  progress.file = file.name;
  progress.position_bytes = file.position_bytes;
  progress.size_bytes = file.size_bytes;
  if (file.time_ns <= shown->base.time_ns) return progress;
  const auto moved = static_cast<double>(file.position_bytes - shown->base.bytes);
  const double per_s = moved * 1e9 / static_cast<double>(file.time_ns - shown->base.time_ns);
  progress.bytes_per_s = to_count(per_s);
  if (per_s >= 1) progress.time_left_ns = to_count(static_cast<double>(bytes_left(file)) / per_s * 1e9);
  return progress;
}

void ProgressTable::end_round() {
  std::unordered_map<std::uint32_t, Files> next;
  for (const auto& [pid, records] : now_) {
    Files& files = next[pid];
    for (const FileRecord& record : records) files.push_back(joined(record));
  }
  before_ = std::move(next);
  now_.clear();
}

}  // namespace tracer::internal
