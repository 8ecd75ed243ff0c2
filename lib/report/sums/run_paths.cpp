// SPDX-License-Identifier: Apache-2.0
#include "report/sums/run_paths.hpp"

#include <algorithm>
#include <utility>

#include "context/task_name.hpp"
#include "report/sums/critical_path.hpp"

namespace tracer::internal {
namespace {

std::string path_name(const Context& context) {
  std::string name = task_name(context);
  return name.empty() ? "?" : name;
}

}  // namespace

RunPaths::RunPaths(Book& book) : book_(book) {
  book_.when_gone([this](ScopeId id, ScopeId into) { gone(id, into); });
}

RunPaths::Run* RunPaths::run_of(ScopeId id) {
  if (id == ScopeId::kNone) return nullptr;
  const auto known = runs_.find(id);
  if (known != runs_.end()) return &known->second;
  if (runs_.size() >= kMostRuns) forget_oldest_run();
  return runs_.size() >= kMostRuns ? nullptr : &runs_[id];
}

/// Null: there is no place for it.
RunPaths::Task* RunPaths::task_of(const Context& context, std::uint64_t begin_ns) {
  if (!context.task_key) return nullptr;
  book_.make(context, true);
  const Book::ScopePtr scope = book_.make(context, false);
  if (!scope) return nullptr;
  if (const auto known = run_of_task_.find(scope->id); known != run_of_task_.end()) {
    const auto run = runs_.find(known->second);
    if (run == runs_.end()) return nullptr;
    run->second.counted.saw_task(context);
    return &run->second.tasks.at(scope->id);
  }
  if (run_of_task_.size() >= kMostTasks) forget_oldest_run();
  const ScopeId run_id = book_.id_of(context, true);
  Run* const run = run_of(run_id);
  if (run == nullptr) return nullptr;
  if (run_of_task_.size() >= kMostTasks) {
    run->is_whole = false;
    return nullptr;
  }
  run_of_task_.emplace(scope->id, run_id);
  run->counted.saw_task(context);
  return &run->tasks.emplace(scope->id, Task{path_name(context), begin_ns, begin_ns}).first->second;
}

void RunPaths::forget_oldest_run() {
  auto oldest = runs_.extract(ScopeId::kNone);
  while (oldest.empty() && !finished_.empty()) {
    oldest = runs_.extract(finished_.front());
    finished_.pop_front();
  }
  if (oldest.empty()) return;
  for (const auto& [id, task] : oldest.mapped().tasks) run_of_task_.erase(id);
  // Files that other runs did not use, either.
  std::erase_if(files_, [&](const auto& file) {
    const auto& who = file.second.who;
    const bool used = std::any_of(who.begin(), who.end(), [&](ScopeId id) { return run_of_task_.contains(id); });
    if (!used) uses_ -= who.size();
    return !used;
  });
}

/// Outside of tasks, too: another content may begin there.
void RunPaths::used(const FileUse& use) {
  if (!use.inode || !use.path) return;
  const Context& context = *use.process->context;
  Task* const task = task_of(context, use.process->start_ns);
  const ContentUse content = content_use(use);
  const FileId id = file_id(use);
  auto file = files_.find(id);
  if (file == files_.end()) {
    // A task needs only what was over before it began.
    if (!content.writes || files_.size() >= kMostFiles) return;
    file = files_.try_emplace(id).first;
  }
  File& known = file->second;
  if (uses_ >= kMostUses) {
    known.whole = false;
    return;
  }
  ++uses_;
  known.uses.push_back(content);
  known.who.push_back(task == nullptr ? ScopeId::kNone : book_.id_of(context, false));
  if (task != nullptr && content.reads_earlier) task->read.push_back(id);
}

/// By the tasks that for certain read what others had written.
RunPaths::Needs RunPaths::needs_of(const Run& run) const {
  std::set<FileId> read;
  for (const auto& [id, task] : run.tasks) read.insert(task.read.begin(), task.read.end());
  Needs needs;
  for (const FileId& id : read) {
    const auto file = files_.find(id);
    if (file == files_.end() || !file->second.whole) continue;
    const auto& [uses, who, whole] = file->second;
    for (const Content& content : contents_of(uses)) {
      if (!may_pair(content)) continue;
      for (const ContentPart& reader : content.readers)
        for (const ContentPart& writer : content.writers)
          if (who[writer.use] != who[reader.use] && run.tasks.contains(who[writer.use]) &&
              run.tasks.contains(who[reader.use]) && passed(uses, content, writer, reader) == Passed::kYes)
            needs[who[reader.use]].insert(who[writer.use]);
    }
  }
  return needs;
}

/// Two runs, or tasks, turned out to be one, or the book had no more room.
void RunPaths::gone(ScopeId id, ScopeId into) {
  if (auto run = runs_.extract(id)) {
    for (const auto& [task, each] : run.mapped().tasks) {
      if (into != ScopeId::kNone) {
        run_of_task_[task] = into;
      } else {
        run_of_task_.erase(task);
      }
    }
    if (into == ScopeId::kNone) return;
    run.key() = into;
    auto result = runs_.insert(std::move(run));
    Run& same = result.position->second;
    if (result.inserted) {
      if (same.finished) finished_.push_back(into);
      return;
    }
    same.tasks.merge(result.node.mapped().tasks);
    same.is_whole = same.is_whole && result.node.mapped().is_whole;
    return;
  }
  const auto run_id = run_of_task_.extract(id);
  if (!run_id) return;
  Run& run = runs_.at(run_id.mapped());
  auto task = run.tasks.extract(id);
  if (into == ScopeId::kNone) run.is_whole = false;
  if (into == ScopeId::kNone || run_of_task_.contains(into)) return;
  run_of_task_.emplace(into, run_id.mapped());
  task.key() = into;
  run.tasks.insert(std::move(task));
}

void RunPaths::add(const Event& event) {
  last_ns_ = std::max(last_ns_, event.time_ns());
  if (const auto* use = event.get_if<FileUse>()) return used(*use);
  if (const auto* start = event.get_if<TaskStart>()) {
    if (Task* const task = task_of(*start->context, start->start_ns)) task->finished = false;
  } else if (const auto* finish = event.get_if<TaskFinish>()) {
    Task* const task = task_of(*finish->context, finish->begin_ns);
    if (task == nullptr) return;
    task->name = path_name(*finish->context);
    task->begin_ns = finish->begin_ns;
    task->end_ns = finish->end_ns;
    task->finished = true;
  } else if (const auto* over = event.get_if<RunFinish>()) {
    const auto run = runs_.find(book_.id_of(*over->context, true));
    if (run == runs_.end()) return;
    run->second.without_task_ns = over->without_task_ns;
    run->second.counted.finished(*over);
    if (!std::exchange(run->second.finished, true)) finished_.push_back(run->first);
  } else if (const auto* change = event.get_if<ContextChange>()) {
    const auto run = run_of_task_.find(book_.id_of(*change->after, false));
    if (!change->pid && run != run_of_task_.end())
      runs_.at(run->second).tasks.at(run->first).name = path_name(*change->after);
  }
}

const RunPaths::Run* RunPaths::find_run(const std::optional<Key>& key) const {
  const Book::ScopePtr scope = key ? book_.find_key(static_cast<std::uint64_t>(*key)) : nullptr;
  const auto run = scope ? runs_.find(scope->id) : runs_.end();
  return run == runs_.end() ? nullptr : &run->second;
}

bool RunPaths::tasks_count(const std::optional<Key>& key) const {
  const Run* const run = find_run(key);
  return run == nullptr || run->counted.count();
}

std::optional<CriticalPath> RunPaths::path_of(Key key) const {
  const Run* const run = find_run(key);
  if (run == nullptr || run->tasks.empty() || !run->is_whole || !run->counted.count()) return std::nullopt;
  std::vector<std::pair<ScopeId, const Task*>> tasks;
  std::vector<TaskSpan> spans;
  std::unordered_map<ScopeId, std::size_t> at;
  for (const auto& [id, task] : run->tasks) {
    at.emplace(id, tasks.size());
    tasks.emplace_back(id, &task);
    spans.push_back({task.begin_ns, task.finished ? task.end_ns : std::max(task.begin_ns, last_ns_)});
  }
  // Each has written one file, which stands for all that it wrote.
  std::vector<TaskFile> files;
  for (std::size_t own = 0; own < tasks.size(); ++own) files.push_back({own, own, false, true});
  for (const auto& [id, needs] : needs_of(*run))
    for (const ScopeId need : needs) files.push_back({at.at(id), at.at(need), true, false});
  const LongestPath longest = path_by_files(spans, files);
  CriticalPath path;
  path.run_key = key;
  path.without_task_ns = run->without_task_ns;
  for (const std::size_t place : longest.tasks) {
    const auto& [id, task] = tasks[place];
    path.tasks.push_back(
        {Key{book_.find(id)->key}, task->name, spans[place].begin_ns, spans[place].end_ns, task->finished});
  }
  path.at_least_ns = longest.length_ns;
  path.at_most_ns = path_by_times(spans).length_ns;
  path.by_files = path.tasks.size() > 1;
  return path;
}

std::vector<CriticalPath> RunPaths::paths() const {
  std::vector<std::pair<ScopeId, Key>> keys;
  for (const auto& [id, run] : runs_)
    if (!run.tasks.empty()) keys.emplace_back(run.tasks.begin()->first, Key{book_.find(id)->key});
  std::sort(keys.begin(), keys.end());
  std::vector<CriticalPath> all;
  for (const auto& [first, key] : keys)
    if (auto path = path_of(key)) all.push_back(std::move(*path));
  return all;
}

}  // namespace tracer::internal
