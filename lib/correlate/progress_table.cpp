// SPDX-License-Identifier: Apache-2.0
#include "correlate/progress_table.hpp"

#include <algorithm>
#include <utility>

namespace tracer::internal {
namespace {

/// Of what may be any number.
std::uint64_t to_count(double value) {
  constexpr double kMost = 9e18;
  return static_cast<std::uint64_t>(std::clamp(value, 0.0, kMost));
}

}  // namespace

/// A file that is written is as long as its writer has come: it says nothing of what is left.
void ProgressTable::add(FileRecord file) {
  if (!file.readable || file.writable || file.position_bytes == 0 || now_.size() >= kMostProcesses) return;
  const auto [at, fresh] = now_.try_emplace(file.pid);
  FileRecord& kept = at->second;
  if (fresh || kept.start_ns != file.start_ns || kept.size_bytes < file.size_bytes || same_file(kept, file))
    kept = std::move(file);
}

bool ProgressTable::same_file(const FileRecord& a, const FileRecord& b) {
  return a.start_ns == b.start_ns && a.inode == b.inode && a.device == b.device && a.fd == b.fd;
}

Progress ProgressTable::of(std::uint32_t pid, std::uint64_t start_ns) const {
  Progress progress;
  const auto at = now_.find(pid);
  if (at == now_.end() || at->second.start_ns != start_ns) return progress;
  const FileRecord& file = at->second;
  progress.file = file.name;
  progress.position_bytes = std::min(file.position_bytes, file.size_bytes);
  progress.size_bytes = file.size_bytes;
  const auto last = before_.find(pid);
  if (last == before_.end() || !same_file(last->second, file) || file.time_ns <= last->second.time_ns ||
      file.position_bytes < last->second.position_bytes)
    return progress;
  const auto moved = static_cast<double>(file.position_bytes - last->second.position_bytes);
  const double per_s = moved * 1e9 / static_cast<double>(file.time_ns - last->second.time_ns);
  progress.bytes_per_s = to_count(per_s);
  if (per_s >= 1)
    progress.time_left_ns = to_count(static_cast<double>(file.size_bytes - *progress.position_bytes) / per_s * 1e9);
  return progress;
}

void ProgressTable::end_round() { before_ = std::exchange(now_, {}); }

}  // namespace tracer::internal
