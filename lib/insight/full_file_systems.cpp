// SPDX-License-Identifier: Apache-2.0
#include "insight/full_file_systems.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>

#include "base/end_words.hpp"
#include "insight/shares.hpp"

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
};

FullFileSystems::FullFileSystems(FindingBook& book)
    : book_(book),
      most_free_bytes_(book.rules().limit(kFull, "most_free_bytes")),
      most_free_percent_(book.rules().limit(kFull, "most_free_percent")),
      works_(book) {}

void FullFileSystems::ask(ReadSpace read) {
  read_ = std::move(read);
  answers_ = std::make_shared<Answers>();
}

void FullFileSystems::file_used(const FileUse& use) {
  if (!read_ || !use.opened_to_write || !use.path || !use.device) return;
  // What another user's process in it writes is not named.
  if (!book_.is_own(*use.process)) return;
  Work* const work = works_.make(*use.process);
  if (work == nullptr) return;
  auto& written = work->written;
  std::erase_if(written, [&](const Written& each) { return each.device == *use.device; });
  if (written.size() >= kMostDevices) written.erase(written.begin());
  written.push_back({*use.device, *use.path, use.process->pid, use.process->start_ns, use.euid});
}

void FullFileSystems::process_ended(const ProcessExit& exit, std::vector<Event>&) {
  if (!read_ || !may_come_of_no_room(exit)) return;
  Work* const known = works_.find(*exit.process);
  if (known == nullptr || known->said) return;
  const ScopeId scope = book_.scopes().id_of(*exit.process->context);
  for (const Written& each : known->written) {
    if (!questions_room_.has(user_of(*exit.process), 1)) return;
    const bool itself = each.pid == exit.process->pid && each.start_ns == exit.process->start_ns;
    ++known->questions;
    question({scope, exit.process, how(exit), each.path, exit.end_ns, itself, each.euid}, each);
  }
}

void FullFileSystems::question(Failed failed, const Written& written) {
  SpaceQuestion asked{written.device, written.path, failed.process->uid == 0};
  const Process& process = *failed.process;
  if (process.parent_pid && process.parent_start_ns)
    asked.near.emplace_back(static_cast<pid_t>(*process.parent_pid), *process.parent_start_ns);
  const uid_t user = user_of(process);
  const std::uint64_t number = ++last_question_;
  questions_room_.hold(user, 1);
  questions_.emplace(number, std::move(failed));
  threads_.add(user, [number, asked = std::move(asked), read = read_, answers = answers_] {
    auto space = read(asked);
    const std::lock_guard lock(answers->mutex);
    answers->by_question.emplace(number, std::move(space));
    answers->changed.notify_all();
  });
}

bool FullFileSystems::has_no_inode(const FileSystemSpace& space) const {
  return space.inodes != 0 && space.free_inodes == 0;
}

bool FullFileSystems::is_full(const FileSystemSpace& space) const {
  return has_no_inode(space) ||
         (space.free_bytes <= most_free_bytes_ && percent(space.free_bytes, space.size_bytes) < most_free_percent_);
}

void FullFileSystems::take_answers(std::uint64_t time_ns, std::vector<Event>& events) {
  if (questions_.empty()) return;
  std::map<std::uint64_t, std::optional<FileSystemSpace>> taken;
  {
    const std::lock_guard lock(answers_->mutex);
    taken.swap(answers_->by_question);
  }
  for (auto& [number, space] : taken) {
    auto asked = questions_.extract(number);
    if (asked.empty()) continue;
    Failed& failed = asked.mapped();
    questions_room_.give_back(user_of(*failed.process), 1);
    Work* const known = works_.find(failed.scope);
    // It may have been lost since, and made again.
    if (known == nullptr || known->questions == 0) continue;
    Work& work = *known;
    const ScopeId scope = failed.scope;
    --work.questions;
    // The first of them; but one that wrote there itself is more certain.
    if (space && is_full(*space) && (!work.found || (failed.wrote_itself && !work.found->first.wrote_itself)))
      work.found.emplace(std::move(failed), std::move(*space));
    decide(work, time_ns, events);
    if (work.failed && work.questions == 0) works_.erase(scope);
  }
}

/// At once if it wrote there itself; else a task that goes on well has not failed for that.
void FullFileSystems::decide(Work& work, std::uint64_t time_ns, std::vector<Event>& events) {
  if (!work.found || work.said) return;
  const auto& [failed, space] = *work.found;
  if (!failed.wrote_itself && !work.failed.value_or(false)) return;
  work.said = true;
  const bool is_run = !failed.process->context->task_key;
  FindingDraft draft;
  draft.code = kFull;
  draft.subject = is_run ? "run" : "task";
  draft.confidence = failed.wrote_itself ? "high" : "medium";
  draft.context = work.context ? work.context : failed.process->context;
  draft.process = failed.process;
  draft.first_ns = draft.last_ns = failed.end_ns;
  draft.closed = true;
  draft.evidence = {words("how", failed.how), words("mount_point", space.mount_point), words("file_system", space.type),
                    words("path", failed.path)};
  if (has_no_inode(space)) {
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
