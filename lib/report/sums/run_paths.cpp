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

/// Outside of tasks, too: another content may begin there of what a task has written.
void RunPaths::used(const FileUse& use) {
  unnamed_.add_unnamed(use);
  if (!use.inode || !use.path) return;
  const Context& context = *use.process->context;
  Task* const task = task_of(context, use.process->start_ns);
  const ContentUse content = content_use(use);
  if (task == nullptr && !content.writes) return;
  const ScopeId who = task == nullptr ? ScopeId::kNone : book_.id_of(context, false);
  const FileId id = file_id(use);
  auto file = files_.find(id);
  if (file == files_.end()) {
    // A task needs only what was over before it began.
    if (task == nullptr || !content.writes || files_.size() >= kMostFiles) return;
    file = files_.try_emplace(id).first;
  }
  File& known = file->second;
  if (task != nullptr && content.reads_earlier) {
    const auto [read, fresh] = task->read.try_emplace(id, known.uses.size());
    const bool is_own = !fresh && read->second < known.who.size() && known.who[read->second] == who;
    if (is_own && content.only_reads() && known.uses[read->second].only_reads())
      return known.uses[read->second].widen(content);
  }
  if (uses_ >= kMostUses) {
    known.whole = false;
    return;
  }
  ++uses_;
  known.uses.push_back(content);
  known.who.push_back(who);
}

/// By the tasks that for certain read what others of their run had written.
RunPaths::Needs RunPaths::needs_of(const std::vector<const Run*>& runs) const {
  std::set<FileId> read;
  for (const Run* run : runs)
    for (const auto& [id, task] : run->tasks)
      for (const auto& [file, place] : task.read) read.insert(file);
  const auto run_of = [&](ScopeId task) {
    const auto known = run_of_task_.find(task);
    return known == run_of_task_.end() ? ScopeId::kNone : known->second;
  };
  Needs needs;
  for (const FileId& id : read) {
    const auto file = files_.find(id);
    if (file == files_.end() || !file->second.whole) continue;
    const auto& [uses, who, whole] = file->second;
    for (const Content& content : contents_of(uses)) {
      if (!may_pair(content)) continue;
      for (const ContentPart& reader : content.readers)
        for (const ContentPart& writer : content.writers)
          if (const ScopeId run = run_of(who[writer.use]);
              run != ScopeId::kNone && run == run_of(who[reader.use]) && who[writer.use] != who[reader.use] &&
              passed(uses, content, writer, reader, unnamed_) == Passed::kYes)
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
  return run == nullptr ? std::nullopt : path_of(key, *run, needs_of({run}));
}

std::optional<CriticalPath> RunPaths::path_of(Key key, const Run& run, const Needs& needs) const {
  if (run.tasks.empty() || !run.is_whole || !run.counted.count()) return std::nullopt;
  std::vector<std::pair<ScopeId, const Task*>> tasks;
  std::vector<TaskSpan> spans;
  std::unordered_map<ScopeId, std::size_t> at;
  for (const auto& [id, task] : run.tasks) {
    at.emplace(id, tasks.size());
    tasks.emplace_back(id, &task);
    spans.push_back({task.begin_ns, task.finished ? task.end_ns : std::max(task.begin_ns, last_ns_)});
  }
  // Each has written one file, which stands for all that it wrote.
  std::vector<TaskFile> files;
  for (std::size_t own = 0; own < tasks.size(); ++own) files.push_back({own, own, false, true});
  for (const auto& [id, place] : at)
    if (const auto own = needs.find(id); own != needs.end())
      for (const ScopeId need : own->second) files.push_back({place, at.at(need), true, false});
  const LongestPath longest = path_by_files(spans, files);
  CriticalPath path;
  path.run_key = key;
  path.without_task_ns = run.without_task_ns;
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
  std::vector<const Run*> all;
  std::map<ScopeId, std::pair<Key, const Run*>> in_order;  // By their first tasks.
  for (const auto& [id, run] : runs_) {
    all.push_back(&run);
    if (!run.tasks.empty()) in_order.try_emplace(run.tasks.begin()->first, Key{book_.find(id)->key}, &run);
  }
  const Needs needs = needs_of(all);
  std::vector<CriticalPath> paths;
  for (const auto& [first, run] : in_order)
    if (auto path = path_of(run.first, *run.second, needs)) paths.push_back(std::move(*path));
  return paths;
}

}  // namespace tracer::internal
