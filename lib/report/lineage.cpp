// SPDX-License-Identifier: Apache-2.0
#include "report/lineage.hpp"

#include <algorithm>
#include <utility>

#include "context/task_name.hpp"

namespace tracer::internal {
namespace {

/// What is not known of a part makes the sum a lower bound.
void add_bytes(std::optional<Figure>& sum, const std::optional<std::uint64_t>& part, bool first) {
  if (part) {
    const Figure before = sum.value_or(Figure{0, first ? Bound::kExact : Bound::kAtLeast});
    sum = Figure{before.value + *part, before.bound};
  } else if (sum) {
    sum->bound = Bound::kAtLeast;
  }
}

void add_path(LineageFile& file, const std::string& path) {
  if (file.path == path) return;
  constexpr std::size_t kMostPaths = 16;
  std::erase(file.other_paths, path);
  std::string before = std::exchange(file.path, path);
  if (file.other_paths.size() < kMostPaths) file.other_paths.push_back(std::move(before));
}

std::string name_of(const Context& context) {
  std::string name = context.task_key ? task_name(context) : "";
  if (!name.empty()) return name;
  name = context.pipeline.value_or(context.run.value_or(""));
  return name.empty() ? "(no run)" : name;
}

}  // namespace

const char* to_string(FileRole role) noexcept {
  switch (role) {
    case FileRole::kInput: return "input";
    case FileRole::kIntermediate: return "intermediate";
    case FileRole::kOutput: break;
  }
  return "output";
}

const char* to_string(FileMode mode) noexcept {
  switch (mode) {
    case FileMode::kRead: return "read";
    case FileMode::kWrite: return "write";
    case FileMode::kReadWrite: break;
  }
  return "read_write";
}

void LineageBuilder::add(const Event& event, std::size_t host, std::uint64_t wall_offset_ns) {
  if (const auto* use = event.get_if<FileUse>()) add_use(*use, host, wall_offset_ns);
  if (const auto* change = event.get_if<ContextChange>(); change && !change->pid && change->old_task_key) {
    const auto before =
        task_places_.find({change->old_run_key ? change->old_run_key : change->after->run_key, change->old_task_key});
    if (before == task_places_.end()) return;
    const std::size_t place = before->second;
    task_places_.erase(before);
    if (task_places_.try_emplace({change->after->run_key, change->after->task_key}, place).second) {
      LineageTask& task = tasks_[place];
      task = {change->after->task_key, change->after->run_key, name_of(*change->after),
              change->after->run,      change->after->step,    change->after->sample};
    }
  }
}

std::size_t LineageBuilder::task_of(const Context& context) {
  const auto [at, fresh] = task_places_.try_emplace({context.run_key, context.task_key}, tasks_.size());
  if (fresh)
    tasks_.push_back({context.task_key, context.run_key, name_of(context), context.run, context.step, context.sample});
  return at->second;
}

void LineageBuilder::add_use(const FileUse& use, std::size_t host, std::uint64_t wall_offset_ns) {
  seen_ = true;
  if (!use.path) {
    folded_opens_ += use.opens;
    return;
  }
  if (uses_.size() >= kMostUses || path_bytes_ + use.path->size() > kMostPathBytes) {
    ++left_out_;
    return;
  }
  const auto [path, fresh] = path_places_.try_emplace(*use.path, paths_.size());
  if (fresh) {
    paths_.push_back(&path->first);
    path_bytes_ += use.path->size();
  }
  uses_.push_back({task_of(*use.process->context), path->second, host, use.device.value_or(0), use.inode.value_or(0),
                   use.last_close_ns + wall_offset_ns, use.opens, use.read_bytes, use.written_bytes,
                   use.size_bytes.value_or(0), use.opened_to_read, use.opened_to_write, use.created});
}

LineageGraph LineageBuilder::build() const {
  LineageGraph lineage;
  lineage.seen = seen_;
  lineage.folded_opens = folded_opens_;
  lineage.left_out = left_out_;
  lineage.tasks = tasks_;
  std::vector<const Use*> uses;
  for (const Use& use : uses_) uses.push_back(&use);
  std::stable_sort(uses.begin(), uses.end(), [](const Use* a, const Use* b) { return a->close_ns < b->close_ns; });
  std::map<std::tuple<std::size_t, std::uint64_t, std::uint64_t>, std::size_t> places;
  struct Modes {
    bool reads = false;
    bool writes = false;
  };
  std::map<std::pair<std::size_t, std::size_t>, Modes> edges;
  for (const Use* use : uses) {
    const std::string& path = *paths_[use->path];
    const auto [at, fresh] = places.try_emplace({use->host, use->device, use->inode}, lineage.files.size());
    // The inode of a file that is gone is given again.
    const bool is_other = !fresh && use->created && lineage.files[at->second].path != path;
    if (is_other) at->second = lineage.files.size();
    if (fresh || is_other) {
      lineage.files.emplace_back();
      lineage.files.back().path = path;
    }
    LineageFile& file = lineage.files[at->second];
    add_path(file, path);
    Modes& modes = edges[{use->task, at->second}];
    if (use->reads) {
      add_bytes(file.read_bytes, use->read_bytes, file.readers.empty());
      if (!std::exchange(modes.reads, true)) file.readers.push_back(use->task);
      if (!file.writers.empty()) file.role = FileRole::kIntermediate;
    }
    if (use->writes) {
      add_bytes(file.written_bytes, use->written_bytes, file.writers.empty());
      if (!std::exchange(modes.writes, true)) file.writers.push_back(use->task);
      // One process that wrote and read it in several opens has read what it wrote.
      if (use->reads && use->opens > 1) file.role = FileRole::kIntermediate;
      if (file.role == FileRole::kInput) file.role = FileRole::kOutput;
    }
    file.opens += use->opens;
    file.size_bytes = use->size_bytes;
  }
  for (const auto& [ends, modes] : edges)
    lineage.edges.push_back({ends.first, ends.second,
                             modes.reads && modes.writes ? FileMode::kReadWrite
                             : modes.writes              ? FileMode::kWrite
                                                         : FileMode::kRead});
  return lineage;
}

}  // namespace tracer::internal
