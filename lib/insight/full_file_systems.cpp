// SPDX-License-Identifier: Apache-2.0
#include "insight/full_file_systems.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/end_words.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kFull = "disk_full";
/// A local file system answers within a millisecond.
constexpr std::chrono::milliseconds kLastAnswers{200};

/// Of a mapped file that can't grow, SIGBUS; of a program that gives up, SIGABRT. Other signals come from elsewhere.
bool may_come_of_no_room(const ProcessExit& exit) {
  if (!exit.failed()) return false;
  return !exit.exit_signal || *exit.exit_signal == SIGBUS || *exit.exit_signal == SIGABRT;
}

}  // namespace

struct FullFileSystems::Answers {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::uint64_t, std::optional<FileSystemSpace>> by_question;
  std::optional<SpaceLook> look;
};

FullFileSystems::FullFileSystems(FindingBook& book)
    : book_(book),
      most_free_bytes_(book.rules().limit(kFull, "most_free_bytes")),
      most_free_percent_(book.rules().limit(kFull, "most_free_percent")),
      works_(book) {}

void FullFileSystems::ask(ReadSpace read, Look look) {
  read_ = std::move(read);
  look_ = std::move(look);
  answers_ = std::make_shared<Answers>();
}

void FullFileSystems::file_used(const FileUse& use) {
  // What another user's process in it writes is not named.
  if (!read_ || !book_.is_own(*use.process)) return;
  if (!use.opened_to_write) return note_move(use);
  Work* const work = works_.make(*use.process);
  if (work == nullptr) return;
  note_writer(*work, use);
  work->sees_moves = use.renames.has_value();
  if (!use.path || !use.device) return;
  auto& written = work->written;
  std::erase_if(written, [&](const Written& each) { return each.device == *use.device; });
  if (written.size() >= kMostDevices) written.erase(written.begin());
  written.push_back({*use.device, *use.path, use.process->pid, use.process->start_ns, use.euid});
  add_file(*work, use);
}

void FullFileSystems::note_writer(Work& work, const FileUse& use) {
  LastWriter& writer = work.last_writer;
  if (writer.pid != use.process->pid || writer.start_ns != use.process->start_ns)
    writer = {use.process->pid, use.process->start_ns};
  writer.named_bytes += use.size_bytes.value_or(0);
  writer.unlinked = writer.unlinked || use.folded == "unlinked";
}

void FullFileSystems::add_file(Work& work, const FileUse& use) {
  if (use.path_cut || use.size_bytes.value_or(0) == 0) return;
  File added{
      *use.device, use.last_close_ns, {use.renamed_to.value_or(*use.path), use.inode.value_or(0), *use.size_bytes}};
  auto place = std::find_if(work.files.begin(), work.files.end(), [&](const File& each) {
    return each.device == added.device && each.file.inode == added.file.inode;
  });
  if (place == work.files.end() && work.files.size() >= kMostFiles) {
    place = std::min_element(work.files.begin(), work.files.end(),
                             [](const File& a, const File& b) { return a.file.size_bytes < b.file.size_bytes; });
    if (place->file.size_bytes >= added.file.size_bytes) return;
  }
  const std::size_t before = place == work.files.end() ? 0 : place->cost();
  const std::size_t bytes = work.file_bytes - before + added.cost();
  if (!works_.charge(*use.process, bytes)) return;
  work.file_bytes = bytes;
  if (place == work.files.end()) {
    work.files.push_back(std::move(added));
  } else {
    *place = std::move(added);
  }
}

/// A removed file is forgotten if another did that than wrote it: who did both may have failed in between.
void FullFileSystems::note_move(const FileUse& use) {
  Work* const work =
      use.device && (use.renamed_to || use.deletes.value_or(0) != 0) ? works_.find(*use.process) : nullptr;
  if (work == nullptr) return;
  const auto place = std::find_if(work->files.begin(), work->files.end(), [&](const File& each) {
    return each.device == *use.device && each.file.inode == use.inode;
  });
  if (place == work->files.end()) return;
  work->file_bytes -= place->cost();
  if (use.renamed_to) place->file.path = *use.renamed_to;
  if (use.deletes.value_or(0) != 0) {
    work->files.erase(place);
  } else {
    work->file_bytes += place->cost();
  }
  works_.charge(*use.process, work->file_bytes);
}

void FullFileSystems::process_ended(const ProcessExit& exit, std::vector<Event>&) {
  first_of_exit_ = last_question_ + 1;
  if (!read_ || !may_come_of_no_room(exit)) return;
  Work* const known = works_.find(*exit.process);
  if (known == nullptr || known->said) return;
  const ScopeId scope = book_.scopes().id_of(*exit.process->context);
  const LastWriter& writer = known->last_writer;
  const bool unlinked = writer.unlinked && writer.pid == exit.process->pid && writer.start_ns == exit.process->start_ns;
  const std::uint64_t all_bytes = exit.account.written_bytes.value_or(0);
  for (const Written& each : known->written) {
    Failed failed{scope, exit.process, how(exit), each.path, exit.end_ns};
    failed.wrote_itself = each.pid == exit.process->pid && each.start_ns == exit.process->start_ns;
    failed.euid = each.euid;
    failed.device = each.device;
    failed.sees_moves = known->sees_moves;
    failed.unlinked_bytes = unlinked ? all_bytes - std::min(all_bytes, writer.named_bytes) : 0;
    question(std::move(failed), each, *known);
  }
}

/// Right behind its end.
void FullFileSystems::process_lived(const ProcessSpan& span, std::vector<Event>&) {
  if (!span.ended) return;
  for (auto each = questions_.lower_bound(first_of_exit_); each != questions_.end(); ++each)
    if (const Work* const work = works_.find(each->second.scope)) note_looks(each->second, span, *work);
}

void FullFileSystems::note_looks(Failed& failed, const ProcessSpan& last, const Work& work) const {
  const bool is_root = failed.process->uid == 0;
  const auto free_at = [&](const SpaceLook* look) -> std::optional<std::uint64_t> {
    if (look == nullptr) return std::nullopt;
    const auto found = look->by_device.find(failed.device);
    if (found == look->by_device.end()) return std::nullopt;
    return is_root ? found->second.for_root_bytes : found->second.bytes;
  };
  const SpaceLook* earlier = nullptr;
  const SpaceLook* look = nullptr;
  for (const SpaceLook& each : seen_) {
    if (each.time_ns > failed.end_ns) break;
    earlier = std::exchange(look, &each);
    const auto free = free_at(&each);
    // It was full while the process lived: whoever made room later.
    if (each.time_ns >= failed.process->start_ns && free && *free <= most_free_bytes_) break;
  }
  const auto free = failed.free_before_bytes = free_at(look);
  if (!free) return;
  failed.written_bytes = last.from_ns <= look->time_ns ? last.change.written_bytes : last.total.written_bytes;
  if (const auto before = free_at(earlier); before > free && look->time_ns > earlier->time_ns) {
    const double pace = static_cast<double>(*before - *free) / static_cast<double>(look->time_ns - earlier->time_ns);
    const auto lost = static_cast<std::uint64_t>(pace * static_cast<double>(failed.end_ns - look->time_ns));
    failed.written_bytes = std::max(failed.written_bytes, lost);
  }
  for (const File& each : work.files)
    if (each.device == failed.device && each.closed_ns >= look->time_ns) failed.closed_bytes += each.file.size_bytes;
}

void FullFileSystems::question(Failed failed, const Written& written, Work& work) {
  SpaceQuestion asked{written.device, written.path, failed.process->uid == 0};
  for (const File& each : work.files)
    if (each.device == written.device) asked.files.push_back(each.file);
  const Process& process = *failed.process;
  if (process.parent_pid && process.parent_start_ns)
    asked.near.emplace_back(static_cast<pid_t>(*process.parent_pid), *process.parent_start_ns);
  const uid_t user = user_of(process);
  failed.held = 1 + asked.files.size() / kFilesOfQuestion;
  if (!questions_room_.has(user, failed.held)) {
    asked.files.clear();
    failed.held = 1;
    if (!questions_room_.has(user, failed.held)) return;
  }
  const std::uint64_t number = ++last_question_;
  questions_room_.hold(user, failed.held);
  ++work.questions;
  questions_.emplace(number, std::move(failed));
  threads_.add(user, [number, asked = std::move(asked), read = read_, answers = answers_] {
    auto space = read(asked);
    const std::lock_guard lock(answers->mutex);
    answers->by_question.emplace(number, std::move(space));
    answers->changed.notify_all();
  });
}

/// For all users at once: only what this process can ask without waiting.
void FullFileSystems::begin_look() {
  if (!look_ || std::exchange(looks_, true)) return;
  threads_.add(::geteuid(), [look = look_, answers = answers_] {
    SpaceLook seen = look();
    const std::lock_guard lock(answers->mutex);
    answers->look = std::move(seen);
  });
}

void FullFileSystems::snapshot_ended(const SnapshotEnd& snapshot, std::vector<Event>& events) {
  take_answers(snapshot.time_ns, events);
  begin_look();
}

bool FullFileSystems::has_no_inode(const FileSystemSpace& space) const {
  return space.inodes != 0 && space.free_inodes == 0;
}

/// What was written since the last look was part of what was free then, and what was removed since the end was part of
/// what was taken at the end. Neither is exact.
bool FullFileSystems::may_have_been_full(const Failed& failed, const FileSystemSpace& space) const {
  if (!failed.wrote_itself) return false;
  const auto is_full_without = [&](std::uint64_t free_bytes, std::uint64_t taken_bytes) {
    return is_full(free_bytes - std::min(free_bytes, taken_bytes), space.size_bytes);
  };
  if (const auto& before = failed.free_before_bytes) {
    if (space.free_bytes > *before && is_full_without(*before, failed.written_bytes)) return true;
    // Others may have written as much.
    if (*before > most_free_bytes_ + 2 * std::max(failed.written_bytes, failed.closed_bytes)) return false;
  }
  // Where renames are not seen, a file that is gone may have another name, and no room was gained.
  const bool gained = failed.sees_moves || !failed.free_before_bytes ||
                      space.free_bytes + failed.written_bytes >= *failed.free_before_bytes + space.removed_bytes / 2;
  return space.removed_bytes != 0 && gained &&
         is_full_without(space.free_bytes, space.removed_bytes + failed.unlinked_bytes);
}

void FullFileSystems::take_answers(std::uint64_t time_ns, std::vector<Event>& events) {
  if (!answers_) return;
  std::map<std::uint64_t, std::optional<FileSystemSpace>> taken;
  {
    const std::lock_guard lock(answers_->mutex);
    taken.swap(answers_->by_question);
    if (auto look = std::exchange(answers_->look, std::nullopt)) {
      looks_ = false;
      seen_.push_back(std::move(*look));
      if (seen_.size() > kMostLooks) seen_.pop_front();
    }
  }
  for (auto& [number, space] : taken) {
    auto asked = questions_.extract(number);
    if (asked.empty()) continue;
    Failed& failed = asked.mapped();
    questions_room_.give_back(user_of(*failed.process), failed.held);
    Work* const known = works_.find(failed.scope);
    // It may have been lost since, and made again.
    if (known == nullptr || known->questions == 0) continue;
    Work& work = *known;
    const ScopeId scope = failed.scope;
    --work.questions;
    failed.may = space && !is_full(*space);
    // The most certain of them, then the first: that it was full, and of one that wrote there itself.
    const auto certainty = [](const Failed& each) { return std::pair(!each.may, each.wrote_itself); };
    if (space && (!failed.may || may_have_been_full(failed, *space)) &&
        (!work.found || certainty(failed) > certainty(work.found->first)))
      work.found.emplace(std::move(failed), std::move(*space));
    decide(work, time_ns, events);
    if (work.failed && work.questions == 0) works_.erase(scope);
  }
}

/// At once if it was full, and it wrote there itself; else a task that goes on well has not failed for that.
void FullFileSystems::decide(Work& work, std::uint64_t time_ns, std::vector<Event>& events) {
  if (!work.found || work.said) return;
  const auto& [failed, space] = *work.found;
  const bool certain = failed.wrote_itself && !failed.may;
  if (!certain && !work.failed.value_or(false)) return;
  // Another answer may be more certain.
  if (failed.may && work.questions != 0) return;
  work.said = true;
  const bool is_run = !failed.process->context->task_key;
  FindingDraft draft;
  draft.code = kFull;
  draft.subject = is_run ? "run" : "task";
  draft.confidence = certain ? "high" : "medium";
  draft.context = work.context ? work.context : failed.process->context;
  draft.process = failed.process;
  draft.first_ns = draft.last_ns = failed.end_ns;
  draft.closed = true;
  draft.evidence = {words("how", failed.how + (failed.may ? ", and may have failed" : "")),
                    words("mount_point", space.mount_point), words("file_system", space.type),
                    words("path", failed.path)};
  if (failed.may) {
    // Without removed files it is by the look.
    draft.evidence.push_back(space.removed_bytes != 0
                                 ? figure("removed_bytes", space.removed_bytes, "bytes")
                                 : figure("free_before_bytes", *failed.free_before_bytes, "bytes"));
    draft.evidence.push_back(figure("free_afterwards_bytes", space.free_bytes, "bytes"));
  } else if (has_no_inode(space)) {
    draft.evidence.push_back(figure("inodes", space.inodes, "count"));
  } else {
    draft.evidence.push_back(figure("free_bytes", space.free_bytes, "bytes"));
  }
  draft.evidence.push_back(figure("size_bytes", space.size_bytes, "bytes"));
  add_other_user(draft, failed.euid);
  book_.report(draft, time_ns, events);
}

void FullFileSystems::scope_ended(const ScopeEnd& end, std::vector<Event>& events) {
  take_answers(end.time_ns, events);
  Work* const known = works_.find(end.id);
  if (known == nullptr) return;
  Work& work = *known;
  const auto has_failed = [](const auto& finish) { return finish.exit_signal || finish.exit_code.value_or(0) != 0; };
  work.context = end.context;
  work.failed = end.is_run() ? has_failed(*end.run) : has_failed(*end.task);
  decide(work, end.time_ns, events);
  if (work.questions == 0) works_.erase(end.id);
}

void FullFileSystems::session_ends(std::uint64_t time_ns, std::vector<Event>& events) {
  if (questions_.empty()) return;
  {
    std::unique_lock lock(answers_->mutex);
    answers_->changed.wait_for(lock, kLastAnswers,
                               [this] { return answers_->by_question.size() >= questions_.size(); });
  }
  take_answers(time_ns, events);
}

}  // namespace tracer::internal
