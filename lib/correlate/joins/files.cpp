// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/files.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/file_systems.hpp"
#include "correlate/joins/acting_user.hpp"

namespace tracer::internal {
namespace {

constexpr std::uint32_t kUnlinked = 1;
constexpr std::string_view kFileTableFull = "file_table_full";
constexpr std::uint64_t kTick_ns = 10'000'000;  ///< The longest: 100 a second.

std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

}  // namespace

std::uint64_t FilesJoin::Sums::uses() const noexcept {
  return sum_of(opens, sum_of(renames.value_or(0), deletes.value_or(0)));
}

void FilesJoin::Sums::add(const Sums& later) {
  if (later.opens != 0 || opens == 0) {
    size_bytes = later.size_bytes;
    closed_ns = std::max(opens != 0 ? closed_ns : 0, later.closed_ns);
  }
  opens = sum_of(opens, later.opens);
  read_bytes.add(later.read_bytes);
  written_bytes.add(later.written_bytes);
  const bool opens_known = opened_ns.known() && later.opened_ns.known();
  opened_ns = opens_known ? std::min(opened_ns.value_or(0), later.opened_ns.value_or(0)) : MaybeNumber();
  if (later.modified_ns.known()) modified_ns = std::max(modified_ns.value_or(0), later.modified_ns.value_or(0));
  reads_earlier = reads_earlier || (later.reads_earlier && begins == 0 && !may_begin);
  may_begin = may_begin || (later.may_begin && begins == 0);
  begins = sum_of(begins, later.begins);
  wrote = wrote || later.wrote;
  created = created || later.created;
  reads = reads || later.reads;
  writes = writes || later.writes;
  renames.add(later.renames);
  deletes.add(later.deletes);
}

bool FilesJoin::Path::is(std::string_view path) const noexcept {
  return known() && path.size() == folder->size() + name.size() && path.starts_with(*folder) && path.ends_with(name);
}

bool FilesJoin::Use::was_deleted() const noexcept {
  return now.deletes.value_or(0) != 0 || (more && more->before.deletes.value_or(0) != 0);
}

FilesJoin::Sums FilesJoin::Use::sum() const {
  if (!more) return now;
  Sums sum = more->before;
  sum.add(now);
  return sum;
}

FilesJoin::Sums FilesJoin::sums_of(const FileUseRecord& record) {
  return {record.opens,         record.read_bytes,
          record.written_bytes, record.size_bytes,
          record.closed_ns,     record.opens == 0 ? MaybeNumber(kNever) : MaybeNumber(record.opened_ns),
          record.renames,       record.deletes,
          record.modified_ns,   record.begins,
          record.may_begin,     record.created,
          record.reads,         record.writes,
          record.reads_earlier, record.wrote || record.begins != 0};
}

/// What came with it, and not with those before.
FilesJoin::Sums FilesJoin::more_of(const FileUseRecord& record) {
  Sums more = sums_of(record);
  more.opens = record.more_opens;
  if (more.renames.known()) more.renames = record.more_renames;
  if (more.deletes.known()) more.deletes = record.more_deletes;
  return more;
}

/// The number of a file that is gone was given to another.
bool FilesJoin::is_other(const Use& use, const FileUseRecord& record) {
  if (!record.path || !use.path.known() || !record.fresh || !record.created) return false;
  const bool has_this_name = use.path.is(*record.path) || (use.more && use.more->renamed_to.is(*record.path));
  return !has_this_name || use.was_deleted();
}

const char* FilesJoin::name_of(At at) noexcept {
  switch (at) {
    case At::kRename: return "rename";
    case At::kDelete: return "delete";
    case At::kClose: break;
  }
  return "close";
}

FilesJoin::FilesJoin(std::shared_ptr<Accounts> accounts)
    : accounts_(std::move(accounts)),
      files_(kMostBytes, kFileTableFull, accounts_,
             [this](std::uint32_t pid, const Files& files) { fold(pid, files); }),
      children_(kMostBytesOfParents, {}, accounts_) {}

bool FilesJoin::fits_into(const Files& files, const Process& process) const noexcept {
  const bool few = files_.bytes_of(process.uid) >= kMostBytes / 2;
  return files.size() < (few ? kFewFilesOfProcess : kMostFilesOfProcess);
}

const std::string* FilesJoin::kept(Files& files, std::string text) {
  const auto [at, fresh] = files.texts.insert(std::move(text));
  if (fresh) files.bytes += kTextBytes + at->size();
  return &*at;
}

FilesJoin::Path FilesJoin::path_of(Files& files, std::string_view text) {
  const std::size_t name = text.rfind('/') + 1;
  files.bytes += text.size() - name;
  return {kept(files, std::string(text.substr(0, name))), std::string(text.substr(name))};
}

FilesJoin::More& FilesJoin::more_of(Files& files, Use& use) {
  if (!use.more) {
    use.more = std::make_unique<More>();
    files.bytes += sizeof(More);
  }
  return *use.more;
}

void FilesJoin::name(Files& files, Use& use, const FileUseRecord& record) {
  if (record.change == FileUseRecord::Change::kRenamed && record.new_path) {
    More& more = more_of(files, use);
    if (!more.renamed_to.is(*record.new_path)) more.renamed_to = path_of(files, *record.new_path);
  }
  if (!record.path || use.path.known()) return;
  use.path = path_of(files, *record.path);
  use.path_cut = record.path_cut;
  if (record.filesystem) use.filesystem = kept(files, *record.filesystem);
  if (record.change == FileUseRecord::Change::kRenamed) use.path_at = At::kRename;
  if (record.change == FileUseRecord::Change::kDeleted) use.path_at = At::kDelete;
}

FilesJoin::Rest& FilesJoin::rest_of(const RecordIdentity& identity) {
  Rest& rest = processes_[identity.pid];
  if (rest.start_ns != identity.start_ns) {
    files_.erase(identity.pid);
    rest = {identity.start_ns};
  }
  return rest;
}

/// Null: its file is one of those that are not told apart.
FilesJoin::Files* FilesJoin::files_of(const Rest& rest, const FileUseRecord& record, const Process& process) {
  if (rest.folded || (record.file.inode == 0 && record.file.generation == 0)) return nullptr;
  Files* const files = files_.find(record.identity.pid);
  return files != nullptr ? files : files_.put(record.identity.pid, process.uid, 0, {});
}

void FilesJoin::fold(std::uint32_t pid, const Files& files) {
  Rest& rest = processes_[pid];
  for (const auto& [file, use] : files.earlier) rest.others.add(use.sum());
  for (const auto& [file, use] : files.uses) rest.others.add(use.sum());
  rest.folded = true;
}

bool FilesJoin::add(Files& files, const FileUseRecord& record, const Process& process) {
  auto use = files.uses.find(record.file);
  const bool other = use != files.uses.end() && is_other(use->second, record);
  if ((use == files.uses.end() || other) && !fits_into(files, process)) return false;
  if (other) {
    files.earlier.emplace_back(record.file, std::exchange(use->second, {}));
    files.bytes += kUseBytes;
  }
  if (use == files.uses.end()) {
    use = files.uses.try_emplace(record.file).first;
    files.bytes += kUseBytes;
  }
  Use& found = use->second;
  if (found.now.uses() == 0) found.euid = acting_user(record.file.user, process);
  name(files, found, record);
  if (record.fresh && found.now.uses() != 0) more_of(files, found).before.add(std::exchange(found.now, {}));
  // The sums of one round only grow; of two that crossed on their way the later one holds.
  if (record.uses() >= found.now.uses()) found.now = sums_of(record);
  return true;
}

void FilesJoin::add(const FileUseRecord& record, const Process& process) {
  Rest& rest = rest_of(record.identity);
  if (record.no_room && !std::exchange(rest.no_room, true))
    accounts_->note_lost(accounts_->user_of(process.uid), kFileTableFull);
  Files* const files = files_of(rest, record, process);
  if (files == nullptr || !add(*files, record, process)) {
    rest.others.add(more_of(record));
    return;
  }
  const std::uint32_t pid = record.identity.pid;
  if (files_.charge(pid, files->bytes)) return;
  // Nobody holds more than this process alone.
  fold(pid, *files);
  files_.erase(pid);
  accounts_->note_lost(accounts_->user_of(process.uid), kFileTableFull);
}

/// The time of the last change is that of the last tick, and another machine's may differ.
std::optional<bool> FilesJoin::modified_meanwhile(const Sums& sum, const Use& use, std::uint64_t start_ns) {
  if (!sum.writes) return std::nullopt;
  if (sum.wrote) return true;
  if (!sum.modified_ns.known() || use.filesystem == nullptr || !is_local_file_system(*use.filesystem))
    return std::nullopt;
  const std::uint64_t first_ns = sum.opened_ns.value_or(kNever) != kNever ? sum.opened_ns.value_or(0) : start_ns;
  const std::uint64_t modified_ns = sum.modified_ns.value_or(0);
  if (modified_ns + kTick_ns < first_ns) return false;
  return modified_ns > first_ns ? std::optional(true) : std::nullopt;
}

FileUse FilesJoin::event_of(const FileUseRecord::File& file, const Use& use, std::uint64_t start_ns) {
  const Sums sum = use.sum();
  FileUse event;
  if (use.path.known()) {
    event.path = use.path.text();
    event.path_at = name_of(use.path_at);
  }
  if (use.more && use.more->renamed_to.known()) event.renamed_to = use.more->renamed_to.text();
  event.renames = sum.renames.value();
  event.deletes = sum.deletes.value();
  event.path_cut = use.path_cut;
  event.opens = sum.opens;
  event.opened_to_read = sum.reads;
  event.opened_to_write = sum.writes;
  event.created = sum.created;
  event.euid = use.euid;
  event.modified_meanwhile = modified_meanwhile(sum, use, start_ns);
  // What was not modified was not emptied, either.
  const bool may_begin = sum.may_begin && event.modified_meanwhile != false;
  if (sum.begins != 0 || !may_begin) event.contents_begun = sum.begins;
  if (sum.reads && (sum.reads_earlier || !may_begin)) event.read_earlier_content = sum.reads_earlier || sum.may_begin;
  if (sum.reads) event.read_bytes = sum.read_bytes.value();
  if (sum.writes) event.written_bytes = sum.written_bytes.value();
  event.last_close_ns = sum.closed_ns;
  if (sum.opened_ns.value_or(kNever) != kNever) event.first_open_ns = sum.opened_ns.value();
  if (!use.path.known()) {
    event.folded = file.inode == 0 && file.generation == kUnlinked ? "unlinked" : "others";
    return event;
  }
  event.device = file.device;
  event.inode = file.inode;
  event.generation = file.generation;
  event.size_bytes = sum.size_bytes;
  if (use.filesystem != nullptr) event.filesystem = *use.filesystem;
  return event;
}

/// By a process and those below it that have ended: they may share what it has opened.
FilesJoin::Moved FilesJoin::moved_by(const ExitRecord& record, const Process& process) {
  Moved moved{process.start_ns, record.total.read_bytes, record.total.written_bytes};
  const auto add = [](Moved& sum, const Moved& part) {
    sum.read_bytes = sum_of(sum.read_bytes, part.read_bytes);
    sum.written_bytes = sum_of(sum.written_bytes, part.written_bytes);
  };
  if (const Moved* const children = children_.find(process.pid)) {
    if (children->start_ns == process.start_ns) add(moved, *children);
    children_.erase(process.pid);
  }
  if (!process.parent_pid || !process.parent_start_ns) return moved;
  // Of parents that are not followed nobody takes them away.
  Moved* above = children_.find(*process.parent_pid);
  if (above == nullptr || above->start_ns != *process.parent_start_ns)
    above = children_.put(*process.parent_pid, process.uid, 0, {*process.parent_start_ns});
  if (above != nullptr) add(*above, moved);
  return moved;
}

/// Positions that exceed what could have been read or written in all were moved otherwise.
void FilesJoin::report(const Files& files, Sums others, std::uint64_t time_ns,
                       const std::shared_ptr<const Process>& process, const std::optional<Moved>& most,
                       std::vector<Event>& events) {
  std::vector<FileUse> uses;
  Moved sum;
  const auto add = [&](const FileUseRecord::File& file, const Use& use) {
    FileUse event = event_of(file, use, process->start_ns);
    if (event.folded == "others") {
      others.add(use.sum());
      return;
    }
    sum.read_bytes = sum_of(sum.read_bytes, event.read_bytes.value_or(0));
    sum.written_bytes = sum_of(sum.written_bytes, event.written_bytes.value_or(0));
    uses.push_back(std::move(event));
  };
  for (const auto& [file, use] : files.earlier) add(file, use);
  for (const auto& [file, use] : files.uses) add(file, use);
  if (others.uses() != 0) {
    // Parts of these sums overlap.
    others.read_bytes = {};
    others.written_bytes = {};
    uses.push_back(event_of({}, {.now = others}, process->start_ns));
  }
  for (FileUse& use : uses) {
    use.time_ns = time_ns;
    use.process = process;
    if (!most || sum.read_bytes > most->read_bytes) use.read_bytes.reset();
    if (!most || sum.written_bytes > most->written_bytes) use.written_bytes.reset();
    events.emplace_back(std::move(use));
  }
}

FilesJoin::Files FilesJoin::take(std::uint32_t pid) {
  Files files;
  if (Files* const kept = files_.find(pid)) files = std::move(*kept);
  files_.erase(pid);
  processes_.erase(pid);
  return files;
}

void FilesJoin::at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) {
  const Moved most = moved_by(record, *exit.process);
  const auto found = processes_.find(record.identity.pid);
  if (found == processes_.end()) return;
  const Rest rest = found->second;
  const Files files = take(record.identity.pid);
  if (rest.start_ns == record.identity.start_ns) report(files, rest.others, exit.time_ns, exit.process, most, events);
}

void FilesJoin::at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                       std::vector<Event>& events) {
  const auto found = processes_.find(process->pid);
  if (found == processes_.end() || found->second.start_ns != process->start_ns) return;
  const Sums others = found->second.others;
  // How much it has read or written in all is not known now, so positions can't be judged.
  report(take(process->pid), others, time_ns, process, std::nullopt, events);
}

void FilesJoin::forget(std::uint32_t pid, std::uint64_t start_ns) {
  if (const Moved* const children = children_.find(pid); children != nullptr && children->start_ns == start_ns)
    children_.erase(pid);
  const auto found = processes_.find(pid);
  if (found != processes_.end() && found->second.start_ns == start_ns) take(pid);
}

}  // namespace tracer::internal
