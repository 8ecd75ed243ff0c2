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
    case FileRole::kUntouched: return "untouched";
    case FileRole::kOutput: break;
  }
  return "output";
}

const char* to_string(FileMode mode) noexcept {
  switch (mode) {
    case FileMode::kRead: return "read";
    case FileMode::kWrite: return "write";
    case FileMode::kRename: return "rename";
    case FileMode::kDelete: return "delete";
    case FileMode::kReadWrite: break;
  }
  return "read_write";
}

void LineageBuilder::add(const Event& event, std::size_t host, std::uint64_t wall_offset_ns) {
  if (const auto* use = event.get_if<FileUse>()) add_use(*use, host, wall_offset_ns);
  const auto* change = event.get_if<ContextChange>();
  if (change == nullptr) return;
  book_.saw(*change);
  const ScopeId id = book_.id_of(*change->after, false);
  const auto known = task_places_.find({id, ""});
  if (!change->pid && change->old_task_key && id != ScopeId::kNone && known != task_places_.end())
    tasks_[known->second] = task_of(*change->after);
}

LineageTask LineageBuilder::task_of(const Context& context) {
  return {context.task_key, context.run_key, name_of(context), context.run, context.step, context.sample, {}};
}

std::size_t LineageBuilder::place_of(const Process& process) {
  const Context& context = *process.context;
  const Book::ScopePtr scope = book_.make(context);
  // A script without an engine has no tasks, but tools.
  const std::string tool = context.task_key || context.engine ? "" : process.program->tool.value_or("");
  const auto [at, fresh] = task_places_.try_emplace({scope ? scope->id : ScopeId::kNone, tool}, tasks_.size());
  if (!fresh) return at->second;
  LineageTask& task = tasks_.emplace_back(task_of(context));
  if (!tool.empty()) task.tool = task.name = tool;
  return at->second;
}

void LineageBuilder::add_use(const FileUse& use, std::size_t host, std::uint64_t wall_offset_ns) {
  seen_ = true;
  if (!use.path) {
    folded_opens_ += use.opens;
    return;
  }
  const std::size_t bytes = use.path->size() + (use.renamed_to ? use.renamed_to->size() : 0);
  if (uses_.size() >= kMostUses || path_bytes_ + bytes > kMostPathBytes) {
    ++left_out_;
    return;
  }
  Use& added =
      uses_.emplace_back(Use{place_of(*use.process), place_of(*use.path), host, use.device.value_or(0),
                             use.inode.value_or(0), use.last_close_ns + wall_offset_ns, use.opens, use.read_bytes,
                             use.written_bytes, use.size_bytes, use.opened_to_read, use.opened_to_write, use.created,
                             use.renames.value_or(0) != 0, std::nullopt, use.renames.has_value(), std::nullopt});
  if (use.renamed_to) added.renamed_to = place_of(*use.renamed_to);
  // After its last close, but nobody knows when.
  if (use.deletes.value_or(0) != 0)
    added.deleted_ns = (use.opens == 0 ? use.last_close_ns : use.time_ns) + wall_offset_ns;
}

std::size_t LineageBuilder::place_of(const std::string& path) {
  const auto [at, fresh] = path_places_.try_emplace(path, paths_.size());
  if (fresh) {
    paths_.push_back(&at->first);
    path_bytes_ += path.size();
  }
  return at->second;
}

/// The names of a file over time.
class LineageBuilder::Names {
 public:
  /// By its first use.
  explicit Names(const Use& use) : last_(use.path) {}
  /// Whoever made the file that is used, made this one.
  bool fit(const Use& use) const { return use.path == last_ || use.renamed_to == last_ || is_gone(use.path); }
  /// Later than those before. Returns what the file is called then, in this order.
  std::vector<std::size_t> add(const Use& use) {
    std::vector<std::size_t> names;
    // By a name that it has no more whoever opened it before can still close it.
    if (!is_gone(use.path)) names.push_back(use.path);
    if (use.renamed_to) {
      if (!is_gone(use.path)) gone_.push_back(use.path);
      if (gone_.size() > kMostGone) gone_.erase(gone_.begin());
      std::erase(gone_, *use.renamed_to);
      names.push_back(*use.renamed_to);
    }
    if (!names.empty()) last_ = names.back();
    return names;
  }

 private:
  static constexpr std::size_t kMostGone = 16;
  bool is_gone(std::size_t name) const { return std::find(gone_.begin(), gone_.end(), name) != gone_.end(); }

  std::size_t last_;
  std::vector<std::size_t> gone_;  ///< That renames took from it.
};

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
  struct Life {
    Names names;
    std::optional<std::uint64_t> deleted_ns = {};

    bool may_be_made_by(const Use& use) const { return names.fit(use) && !(deleted_ns && use.close_ns > *deleted_ns); }
  };
  std::vector<Life> lives;
  struct Modes {
    bool reads = false;
    bool writes = false;
    bool renames = false;
    bool deletes = false;
  };
  std::map<std::pair<std::size_t, std::size_t>, Modes> edges;
  for (const Use* use : uses) {
    const auto [at, fresh] = places.try_emplace({use->host, use->device, use->inode}, lineage.files.size());
    // The inode of a file that is gone is given again.
    const bool is_other = !fresh && use->created && !lives[at->second].may_be_made_by(*use);
    if (is_other) at->second = lineage.files.size();
    if (fresh || is_other) {
      lineage.files.emplace_back().path = *paths_[use->path];
      lives.push_back({Names(*use)});
    }
    LineageFile& file = lineage.files[at->second];
    Life& life = lives[at->second];
    for (const std::size_t name : life.names.add(*use)) add_path(file, *paths_[name]);
    if (use->deleted_ns) life.deleted_ns = use->deleted_ns;
    if (use->sees_moves) file.deleted = life.deleted_ns.has_value();
    lineage.sees_moves = lineage.sees_moves || use->sees_moves;
    if (use->size_bytes) file.size_bytes = *use->size_bytes;
    Modes& modes = edges[{use->task, at->second}];
    modes.renames = modes.renames || use->renames;
    modes.deletes = modes.deletes || use->deleted_ns;
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
  }
  for (LineageFile& file : lineage.files)
    if (file.readers.empty() && file.writers.empty()) file.role = FileRole::kUntouched;
  for (const auto& [ends, modes] : edges) {
    const auto add = [&lineage, task = ends.first, file = ends.second](FileMode mode) {
      lineage.edges.push_back({task, file, mode});
    };
    if (modes.reads && modes.writes) {
      add(FileMode::kReadWrite);
    } else if (modes.reads || modes.writes) {
      add(modes.writes ? FileMode::kWrite : FileMode::kRead);
    }
    if (modes.renames) add(FileMode::kRename);
    if (modes.deletes) add(FileMode::kDelete);
  }
  return lineage;
}

}  // namespace tracer::internal
