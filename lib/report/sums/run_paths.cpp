// SPDX-License-Identifier: Apache-2.0
#include "report/sums/run_paths.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "context/task_name.hpp"
#include "report/sums/critical_path.hpp"

namespace tracer::internal {
namespace {

std::uint64_t number_of_key(const std::optional<Key>& key) { return key ? static_cast<std::uint64_t>(*key) : 0; }

std::string path_name(const Context& context) {
  std::string name = task_name(context);
  return name.empty() ? "?" : name;
}

}  // namespace

RunPaths::Run* RunPaths::run_of(const Context& context) {
  const std::uint64_t key = number_of_key(context.run_key);
  if (key == 0) return nullptr;
  const auto known = runs_.find(key);
  if (known != runs_.end()) return &known->second;
  if (runs_.size() >= kMostRuns) forget_oldest_run();
  return runs_.size() >= kMostRuns ? nullptr : &runs_[key];
}

/// Null: there is no place for it.
RunPaths::Task* RunPaths::task_of(const Context& context, std::uint64_t begin_ns) {
  const std::uint64_t key = number_of_key(context.task_key);
  if (key == 0) return nullptr;
  if (const auto known = places_.find(key); known != places_.end()) {
    const auto run = runs_.find(known->second.run);
    return run == runs_.end() ? nullptr : &run->second.tasks.at(known->second.id);
  }
  if (places_.size() >= kMostTasks) forget_oldest_run();
  Run* const run = run_of(context);
  if (run == nullptr) return nullptr;
  if (places_.size() >= kMostTasks) {
    run->is_whole = false;
    return nullptr;
  }
  places_.emplace(key, Place{number_of_key(context.run_key), next_});
  return &run->tasks.emplace(next_++, Task{*context.task_key, path_name(context), begin_ns, begin_ns}).first->second;
}

void RunPaths::forget_oldest_run() {
  if (finished_.empty()) return;
  const auto oldest = runs_.extract(finished_.front());
  finished_.pop_front();
  if (oldest.empty()) return;
  for (const auto& [id, task] : oldest.mapped().tasks) {
    needs_ -= task.needs.size();
    places_.erase(static_cast<std::uint64_t>(task.key));
  }
  for (auto file = files_.begin(); file != files_.end();) {
    std::erase_if(file->second.writers, [&](const Place& writer) { return writer.run == oldest.key(); });
    file = file->second.writers.empty() ? files_.erase(file) : std::next(file);
  }
}

/// Who read before it wrote has read what was there before.
void RunPaths::used(const FileUse& use) {
  const Context& context = *use.process->context;
  if (!use.inode || !use.path || !context.task_key) return;
  Task* const task = task_of(context, use.process->start_ns);
  if (task == nullptr) return;
  const Place own = places_.at(number_of_key(context.task_key));
  const FileId id{use.device.value_or(0), *use.inode};
  const auto known = files_.find(id);
  // The inode of a file that is gone is given again.
  const std::size_t path_hash = std::hash<std::string>{}(*use.path);
  const bool is_other = known != files_.end() && use.created && known->second.path_hash != path_hash;
  if (use.opened_to_read && known != files_.end() && !is_other) {
    for (const Place& writer : known->second.writers) {
      if (writer.run != own.run || writer.id == own.id || needs_ >= kMostNeeds) continue;
      if (std::find(task->needs.begin(), task->needs.end(), writer.id) != task->needs.end()) continue;
      task->needs.push_back(writer.id);
      ++needs_;
    }
  }
  if (!use.opened_to_write || (known == files_.end() && files_.size() >= kMostFiles)) return;
  File& file = files_[id];
  if (is_other) file.writers.clear();
  file.path_hash = path_hash;
  const bool is_known = std::any_of(file.writers.begin(), file.writers.end(),
                                    [&](const Place& writer) { return writer.run == own.run && writer.id == own.id; });
  if (is_known) return;
  if (file.writers.size() >= kMostWriters) file.writers.erase(file.writers.begin());
  file.writers.push_back(own);
}

void RunPaths::rename_task(std::uint64_t from, std::uint64_t to, const Context& after) {
  auto node = places_.extract(from);
  if (node.empty()) return;
  const auto run = runs_.find(node.mapped().run);
  if (run != runs_.end()) {
    Task& task = run->second.tasks.at(node.mapped().id);
    task.key = Key{to};
    task.name = path_name(after);
  }
  node.key() = to;
  // Two that turn out to be one: it has been added to its run before.
  const auto result = places_.insert(std::move(node));
  if (result.inserted || run == runs_.end()) return;
  const auto same = run->second.tasks.find(result.node.mapped().id);
  needs_ -= same->second.needs.size();
  run->second.tasks.erase(same);
}

void RunPaths::rename_run(std::uint64_t from, std::uint64_t to) {
  auto node = runs_.extract(from);
  if (node.empty()) return;
  const auto known = runs_.find(to);
  if (known == runs_.end()) {
    node.key() = to;
    if (runs_.insert(std::move(node)).position->second.finished) finished_.push_back(to);
  } else {
    known->second.tasks.merge(node.mapped().tasks);
    known->second.is_whole = known->second.is_whole && node.mapped().is_whole;
  }
  for (auto& [key, place] : places_)
    if (place.run == from) place.run = to;
  for (auto& [id, file] : files_)
    for (Place& writer : file.writers)
      if (writer.run == from) writer.run = to;
}

void RunPaths::renamed(const ContextChange& change) {
  if (change.pid) return;
  const std::uint64_t run = number_of_key(change.after->run_key);
  const std::uint64_t task = number_of_key(change.after->task_key);
  if (change.old_run_key && run != 0 && *change.old_run_key != *change.after->run_key)
    rename_run(number_of_key(change.old_run_key), run);
  if (change.old_task_key && task != 0 && *change.old_task_key != *change.after->task_key) {
    rename_task(number_of_key(change.old_task_key), task, *change.after);
  } else if (const auto known = places_.find(task); known != places_.end()) {
    const auto in = runs_.find(known->second.run);
    if (in != runs_.end()) in->second.tasks.at(known->second.id).name = path_name(*change.after);
  }
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
    const auto run = runs_.find(number_of_key(over->context->run_key));
    if (run == runs_.end()) return;
    run->second.without_task_ns = over->without_task_ns;
    if (!std::exchange(run->second.finished, true)) finished_.push_back(run->first);
  } else if (const auto* change = event.get_if<ContextChange>()) {
    renamed(*change);
  }
}

std::optional<CriticalPath> RunPaths::path_of(Key key) const {
  const auto run = runs_.find(static_cast<std::uint64_t>(key));
  if (run == runs_.end() || run->second.tasks.empty() || !run->second.is_whole) return std::nullopt;
  std::vector<const Task*> tasks;
  std::vector<TaskSpan> spans;
  std::unordered_map<Id, std::size_t> at;
  for (const auto& [id, task] : run->second.tasks) {
    at.emplace(id, tasks.size());
    tasks.push_back(&task);
    spans.push_back({task.begin_ns, task.finished ? task.end_ns : std::max(task.begin_ns, last_ns_)});
  }
  // Each has written one file, which stands for all that it wrote.
  std::vector<TaskFile> files;
  for (const auto& [id, task] : run->second.tasks) {
    const std::size_t own = at.at(id);
    files.push_back({own, own, false, true});
    for (const Id need : task.needs)
      if (const auto writer = at.find(need); writer != at.end()) files.push_back({own, writer->second, true, false});
  }
  const LongestPath longest = path_by_files(spans, files);
  CriticalPath path;
  path.run_key = key;
  path.without_task_ns = run->second.without_task_ns;
  for (const std::size_t place : longest.tasks)
    path.tasks.push_back(
        {tasks[place]->key, tasks[place]->name, spans[place].begin_ns, spans[place].end_ns, tasks[place]->finished});
  path.at_least_ns = longest.length_ns;
  path.at_most_ns = path_by_times(spans).length_ns;
  path.by_files = path.tasks.size() > 1;
  return path;
}

std::vector<CriticalPath> RunPaths::paths() const {
  std::vector<std::pair<Id, Key>> keys;
  for (const auto& [key, run] : runs_)
    if (!run.tasks.empty()) keys.emplace_back(run.tasks.begin()->first, Key{key});
  std::sort(keys.begin(), keys.end());
  std::vector<CriticalPath> all;
  for (const auto& [first, key] : keys)
    if (auto path = path_of(key)) all.push_back(std::move(*path));
  return all;
}

}  // namespace tracer::internal
