// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/files.hpp"

#include <limits>
#include <utility>

namespace tracer::internal {
namespace {

constexpr std::uint32_t kUnlinked = 1;

std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

void add_known(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& part) noexcept {
  if (sum && part) {
    *sum = sum_of(*sum, *part);
  } else {
    sum.reset();
  }
}

/// What has ended of a file's rounds.
void add_round(FileUseRecord& sum, const FileUseRecord& round) {
  if (sum.opens == 0) {
    sum = round;
    return;
  }
  sum.opens = sum_of(sum.opens, round.opens);
  add_known(sum.read_bytes, round.read_bytes);
  add_known(sum.written_bytes, round.written_bytes);
  sum.created = sum.created || round.created;
  sum.reads = sum.reads || round.reads;
  sum.writes = sum.writes || round.writes;
  sum.size_bytes = round.size_bytes;
  sum.closed_ns = std::max(sum.closed_ns, round.closed_ns);
}

}  // namespace

FilesJoin::Use* FilesJoin::use_of(const FileUseRecord& record) {
  Files& files = processes_[record.identity.pid];
  if (files.start_ns != record.identity.start_ns) {
    files_ -= files.uses.size();
    files = {record.identity.start_ns, {}};
  }
  const auto known = files.uses.find(record.file);
  if (known != files.uses.end()) return &known->second;
  // Its first record was lost, so nobody knows which file it is.
  const bool fits = files_ < kMostFiles && (record.path || record.file.inode == 0);
  const auto [at, fresh] = files.uses.try_emplace(fits ? record.file : FileUseRecord::File{});
  if (fresh) ++files_;
  return &at->second;
}

void FilesJoin::add(const FileUseRecord& record) {
  Use& use = *use_of(record);
  if (record.path) use.path = record.path;
  if (record.fresh && use.now.opens != 0) add_round(use.before, std::exchange(use.now, {}));
  // The sums of one round only grow; of two that crossed on their way the later one holds.
  if (record.opens >= use.now.opens) {
    use.now = record;
    use.now.path.reset();
    use.now.path_cut = record.path_cut || use.now.path_cut;
  }
}

FileUse FilesJoin::event_of(const FileUseRecord::File& file, const Use& use) {
  FileUseRecord sum = use.before;
  add_round(sum, use.now);
  FileUse event;
  event.path = use.path;
  if (use.path) event.path_at = "close";
  event.path_cut = use.before.path_cut || use.now.path_cut;
  event.opens = sum.opens;
  event.opened_to_read = sum.reads;
  event.opened_to_write = sum.writes;
  event.created = sum.created;
  if (sum.reads) event.read_bytes = sum.read_bytes;
  if (sum.writes) event.written_bytes = sum.written_bytes;
  event.last_close_ns = sum.closed_ns;
  if (file.inode == 0) {
    event.folded = file.generation == kUnlinked ? "unlinked" : "others";
    return event;
  }
  event.device = file.device;
  event.inode = file.inode;
  event.size_bytes = sum.size_bytes;
  return event;
}

/// By a process and those below it that have ended: they may share what it has opened.
FilesJoin::Moved FilesJoin::moved_by(const ExitRecord& record, const Process& process) {
  Moved moved{process.start_ns, record.total.read_bytes, record.total.written_bytes};
  const auto add = [](Moved& sum, const Moved& part) {
    sum.read_bytes = sum_of(sum.read_bytes, part.read_bytes);
    sum.written_bytes = sum_of(sum.written_bytes, part.written_bytes);
  };
  if (const auto children = children_.find(process.pid); children != children_.end()) {
    if (children->second.start_ns == process.start_ns) add(moved, children->second);
    children_.erase(children);
  }
  if (!process.parent_pid || !process.parent_start_ns || children_.size() >= kMostFiles) return moved;
  Moved& above = children_[*process.parent_pid];
  if (above.start_ns != *process.parent_start_ns) above = {*process.parent_start_ns};
  add(above, moved);
  return moved;
}

/// Positions that exceed what could have been read or written in all were moved otherwise.
void FilesJoin::report(const Files& files, std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                       const std::optional<Moved>& most, std::vector<Event>& events) {
  std::vector<FileUse> uses;
  Moved sum;
  for (const auto& [file, use] : files.uses) {
    uses.push_back(event_of(file, use));
    sum.read_bytes = sum_of(sum.read_bytes, uses.back().read_bytes.value_or(0));
    sum.written_bytes = sum_of(sum.written_bytes, uses.back().written_bytes.value_or(0));
  }
  for (FileUse& use : uses) {
    use.time_ns = time_ns;
    use.process = process;
    if (!most || sum.read_bytes > most->read_bytes) use.read_bytes.reset();
    if (!most || sum.written_bytes > most->written_bytes) use.written_bytes.reset();
    events.emplace_back(std::move(use));
  }
}

void FilesJoin::at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) {
  const Moved most = moved_by(record, *exit.process);
  const auto found = processes_.find(record.identity.pid);
  if (found == processes_.end()) return;
  const Files files = std::move(found->second);
  processes_.erase(found);
  files_ -= files.uses.size();
  if (files.start_ns == record.identity.start_ns) report(files, exit.time_ns, exit.process, most, events);
}

void FilesJoin::at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                       std::vector<Event>& events) {
  const auto found = processes_.find(process->pid);
  if (found == processes_.end() || found->second.start_ns != process->start_ns) return;
  files_ -= found->second.uses.size();
  const Files files = std::move(found->second);
  processes_.erase(found);
  // How much it has read or written in all is not known now, so positions can't be judged.
  report(files, time_ns, process, std::nullopt, events);
}

void FilesJoin::forget(std::uint32_t pid, std::uint64_t start_ns) {
  if (const auto children = children_.find(pid); children != children_.end() && children->second.start_ns == start_ns)
    children_.erase(children);
  const auto found = processes_.find(pid);
  if (found == processes_.end() || found->second.start_ns != start_ns) return;
  files_ -= found->second.uses.size();
  processes_.erase(found);
}

}  // namespace tracer::internal
