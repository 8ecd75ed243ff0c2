// SPDX-License-Identifier: Apache-2.0
#include "report/lineage.hpp"

#include <algorithm>
#include <tuple>
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
    case FileRole::kUnknown: return "unknown";
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
  sees_opens_ = sees_opens_ || use.first_open_ns.has_value();
  if (!use.path) {
    folded_opens_ += use.opens;
    unnamed_writes_[host].add_unnamed(use, wall_offset_ns);
    return;
  }
  const std::size_t bytes = use.path->size() + (use.renamed_to ? use.renamed_to->size() : 0);
  if (uses_.size() >= kMostUses || path_bytes_ + bytes > kMostPathBytes) {
    ++left_out_;
    return;
  }
  ContentUse content = content_use(use);
  for (std::uint64_t* time_ns : {&content.process_ns, &content.open_from_ns, &content.open_to_ns, &content.close_ns})
    *time_ns += wall_offset_ns;
  Use& added =
      uses_.emplace_back(Use{place_of(*use.process), place_of(*use.path), host, file_id(use), content, use.opens,
                             content.may_be_several ? std::nullopt : use.read_bytes, use.written_bytes, use.size_bytes,
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
    return names;
  }

 private:
  static constexpr std::size_t kMostGone = 16;
  bool is_gone(std::size_t name) const { return std::find(gone_.begin(), gone_.end(), name) != gone_.end(); }

  std::vector<std::size_t> gone_;  ///< That renames took from it.
};

namespace {

constexpr std::size_t kMostFrom = 64;

void add_once(std::vector<std::size_t>& tasks, std::size_t task) {
  if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
}

/// A task of which it is known how it used a content, so far: it is in one of the lists once for each.
void note(Passed& how, bool certain, std::size_t task, std::vector<std::size_t>& for_certain,
          std::vector<std::size_t>& possible) {
  if (const Passed now = certain ? Passed::kYes : Passed::kMaybe; now > how) {
    (certain ? for_certain : possible).push_back(task);
    how = now;
  }
}

/// `is_read`: after it was written; `may_be_read`: if so, that is not certain.
FileRole role_of(const LineageFile& file, const Content& content, bool is_read, bool may_be_read) {
  if (!content.known) return FileRole::kUnknown;
  if (content.readers.empty() && content.writers.empty()) return FileRole::kUntouched;
  if (is_read) return FileRole::kIntermediate;
  if (!file.writers.empty()) return may_be_read ? FileRole::kUnknown : FileRole::kOutput;
  return content.writers.empty() && !file.readers.empty() ? FileRole::kInput : FileRole::kUnknown;
}

}  // namespace

void LineageBuilder::add_content(const Uses& uses, const std::vector<ContentUse>& times, const Content& content,
                                 const MayBegins& unnamed, LineageGraph& lineage) const {
  struct Modes {
    Passed reads = Passed::kNo;
    Passed writes = Passed::kNo;
    bool renames = false;
    bool deletes = false;
    std::vector<std::size_t> from = {};
    std::vector<std::size_t> may_from = {};
  };
  std::map<std::size_t, Modes> modes;
  std::set<std::size_t> used;      // By their places.
  std::set<std::size_t> certain;   // Those that read or wrote this content for certain.
  std::set<std::size_t> possible;  // Those that may have.
  const std::size_t at = lineage.files.size();
  LineageFile& file = lineage.files.emplace_back();
  for (const ContentPart& writer : content.writers) {
    const Use& use = *uses[writer.use];
    used.insert(writer.use);
    (writer.certain ? certain : possible).insert(writer.use);
    file.may_be_several = file.may_be_several || use.content.may_be_several;
    note(modes[use.task].writes, writer.certain, use.task, file.writers, file.possible_writers);
    add_bytes(file.written_bytes, writer.certain ? use.written_bytes : std::nullopt,
              &writer == &content.writers.front());
  }
  bool is_read = false;  // After it was written.
  bool may_be_read = !may_pair(content);
  for (const ContentPart& reader : content.readers) {
    const Use& use = *uses[reader.use];
    used.insert(reader.use);
    (reader.certain ? certain : possible).insert(reader.use);
    Modes& own = modes[use.task];
    note(own.reads, reader.certain, use.task, file.readers, file.possible_readers);
    add_bytes(file.read_bytes, reader.certain ? use.read_bytes : std::nullopt, &reader == &content.readers.front());
    if (!may_pair(content)) continue;
    for (const ContentPart& writer : content.writers) {
      // One process passes on to itself only what it read in another open than that which began it.
      if (writer.use == reader.use && (use.opens <= 1 || !times[reader.use].begins)) continue;
      const Passed how = passed(times, content, writer, reader, unnamed);
      if (how == Passed::kNo) continue;
      is_read = is_read || how == Passed::kYes;
      may_be_read = true;
      if (uses[writer.use]->task == use.task) continue;
      std::vector<std::size_t>& from = how == Passed::kYes ? own.from : own.may_from;
      if (from.size() < kMostFrom) add_once(from, uses[writer.use]->task);
    }
  }
  used.insert(content.others.begin(), content.others.end());
  std::vector<std::size_t> in_order(used.begin(), used.end());
  std::stable_sort(in_order.begin(), in_order.end(),
                   [&](std::size_t a, std::size_t b) { return times[a].close_ns < times[b].close_ns; });
  // It is called by the paths of those that are certain, and of those that renamed it.
  std::set<std::size_t> named;
  for (const std::size_t each : used)
    if (certain.contains(each) || !possible.contains(each)) named.insert(each);
  if (named.empty()) named = used;
  file.path = *paths_[uses[*std::find_if(in_order.begin(), in_order.end(), [&](std::size_t each) {
                        return named.contains(each);
                      })]->path];
  Names names;
  for (const std::size_t each : in_order) {
    const Use& use = *uses[each];
    if (named.contains(each))
      for (const std::size_t name : names.add(use)) add_path(file, *paths_[name]);
    if (use.sees_moves) file.deleted = file.deleted.value_or(false) || use.deleted_ns.has_value();
    lineage.sees_moves = lineage.sees_moves || use.sees_moves;
    if (use.size_bytes && named.contains(each)) file.size_bytes = *use.size_bytes;
    file.opens += use.opens;
    Modes& own = modes[use.task];
    own.renames = own.renames || use.renames;
    own.deletes = own.deletes || use.deleted_ns;
  }
  std::erase_if(file.possible_writers, [&](std::size_t task) { return modes[task].writes == Passed::kYes; });
  std::erase_if(file.possible_readers, [&](std::size_t task) { return modes[task].reads == Passed::kYes; });
  for (auto& [task, own] : modes)
    std::erase_if(own.may_from, [&own = own](std::size_t each) {
      return std::find(own.from.begin(), own.from.end(), each) != own.from.end();
    });
  file.role = role_of(file, content, is_read, may_be_read);
  if (file.role == FileRole::kInput && unnamed.any_before(times[in_order.back()].close_ns))
    file.role = FileRole::kUnknown;
  for (auto& [task, own] : modes) {
    const auto add = [&, task = task](FileMode mode, Passed how, bool reads = false) {
      if (how == Passed::kNo) return;
      LineageEdge& edge = lineage.edges.emplace_back(LineageEdge{task, at, mode, how == Passed::kYes, {}, {}});
      if (!reads) return;
      edge.from = std::move(own.from);
      edge.may_from = std::move(own.may_from);
    };
    if (own.reads == own.writes) {
      add(FileMode::kReadWrite, own.reads, true);
    } else {
      add(FileMode::kRead, own.reads, true);
      add(FileMode::kWrite, own.writes);
    }
    if (own.renames) add(FileMode::kRename, Passed::kYes);
    if (own.deletes) add(FileMode::kDelete, Passed::kYes);
  }
}

LineageGraph LineageBuilder::build() const {
  LineageGraph lineage;
  lineage.seen = seen_;
  lineage.sees_opens = sees_opens_;
  lineage.folded_opens = folded_opens_;
  lineage.left_out = left_out_;
  lineage.tasks = tasks_;
  std::map<std::pair<std::size_t, FileId>, Uses> by_file;
  Uses uses;
  for (const Use& use : uses_) uses.push_back(&use);
  std::stable_sort(uses.begin(), uses.end(),
                   [](const Use* a, const Use* b) { return a->content.close_ns < b->content.close_ns; });
  std::vector<Uses*> files;  // In the order of their first close.
  for (const Use* use : uses) {
    Uses& file = by_file[{use->host, use->file}];
    if (file.empty()) files.push_back(&file);
    file.push_back(use);
  }
  std::map<std::pair<std::size_t, std::string>, std::vector<std::size_t>> versions;
  for (const Uses* file : files) {
    std::vector<ContentUse> times;
    for (const Use* use : *file) times.push_back(use->content);
    const auto unnamed = unnamed_writes_.find(file->front()->host);
    for (const Content& content : contents_of(times)) {
      add_content(*file, times, content, unnamed == unnamed_writes_.end() ? MayBegins() : unnamed->second, lineage);
      versions[{file->front()->host, lineage.files.back().path}].push_back(lineage.files.size() - 1);
    }
  }
  for (const auto& [path, places] : versions)
    for (std::size_t i = 0; i < places.size(); ++i) {
      lineage.files[places[i]].version = i + 1;
      lineage.files[places[i]].versions = places.size();
    }
  std::stable_sort(lineage.edges.begin(), lineage.edges.end(), [](const LineageEdge& a, const LineageEdge& b) {
    return std::tie(a.task, a.file, a.mode) < std::tie(b.task, b.file, b.mode);
  });
  return lineage;
}

}  // namespace tracer::internal
