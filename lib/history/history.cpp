// SPDX-License-Identifier: Apache-2.0
#include <tracer/history.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "history/history_file.hpp"
#include "history/model.hpp"

namespace tracer {

TaskKind kind_of(const Context& context, std::string_view tool) {
  TaskKind kind{context.pipeline.value_or(""), context.step.value_or(std::string(tool)), context.engine.value_or("")};
  // A run without a pipeline is called after its tool where nobody has named it.
  if (kind.pipeline.empty() && context.provenance.run == Provenance::kInferred)
    kind.pipeline = context.run.value_or("");
  return kind;
}

std::string_view to_string(Basis basis) noexcept {
  switch (basis) {
    case Basis::kAll: return "all";
    case Basis::kSimilar: return "similar";
    case Basis::kScaled: return "scaled";
  }
  return {};
}

class History::Impl {
 public:
  explicit Impl(const std::filesystem::path& path)
      : Impl(internal::HistoryFile(path, internal::HistoryFile::Access::kRead)) {}

  const internal::UsualModel& model() const noexcept { return model_; }
  const std::vector<HistoryKind>& kinds() const noexcept { return kinds_; }
  const std::vector<HistoryRun>& runs() const noexcept { return runs_; }

 private:
  explicit Impl(internal::HistoryFile&& file) : Impl(file.tasks(), file.runs()) {}
  Impl(const std::vector<internal::PastTask>& tasks, std::vector<HistoryRun> runs)
      : model_(tasks), runs_(std::move(runs)) {
    std::map<TaskKind, HistoryKind> kinds;
    for (const internal::PastTask& task : tasks) {
      HistoryKind& kind = kinds[task.kind];
      kind.kind = task.kind;
      ++kind.tasks;
      if (task.outcome == internal::Outcome::kSucceeded) ++kind.succeeded;
      kind.last_time_s = std::max(kind.last_time_s, task.end_time_s);
    }
    std::map<TaskKind, HistoryKind> shown;
    for (auto& [name, kind] : kinds) {
      if (kind.succeeded < kLeast) kind.kind.script.reset();
      HistoryKind& row = shown[kind.kind];
      row = {kind.kind, row.tasks + kind.tasks, row.succeeded + kind.succeeded,
             std::max(row.last_time_s, kind.last_time_s)};
    }
    for (auto& [name, kind] : shown) kinds_.push_back(std::move(kind));
  }

  internal::UsualModel model_;
  std::vector<HistoryKind> kinds_;
  std::vector<HistoryRun> runs_;
};

History::History(const std::filesystem::path& file) : impl_(std::make_unique<const Impl>(file)) {}
History::~History() = default;

Expectation History::expect(const TaskKind& kind, std::optional<std::uint64_t> input_bytes) const {
  return impl_->model().expect(kind, input_bytes);
}

std::optional<std::uint64_t> History::time_left_ns(const TaskKind& kind, std::uint64_t elapsed_ns,
                                                   std::optional<std::uint64_t> input_bytes) const {
  return impl_->model().time_left_ns(kind, elapsed_ns, input_bytes);
}

const std::vector<HistoryKind>& History::kinds() const noexcept { return impl_->kinds(); }
const std::vector<HistoryRun>& History::runs() const noexcept { return impl_->runs(); }

std::uint64_t prune_history(const std::filesystem::path& file, std::chrono::seconds age) {
  if (!std::filesystem::exists(file))
    throw Error({ErrorCode::kFileUnreadable, ENOENT, fmt::format("there is no history {}", file.string()), {}, {}});
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  internal::HistoryFile history(file, internal::HistoryFile::Access::kWrite);
  return history.prune(static_cast<std::uint64_t>(std::max(now - age, std::chrono::seconds(0)).count()),
                       internal::HistoryFile::kMostTasks);
}

bool delete_history(const std::filesystem::path& file) {
  bool was_there = false;
  for (const char* end : {"", "-wal", "-shm", "-journal"}) {
    const std::string name = file.string() + end;
    if (::unlink(name.c_str()) == 0) {
      was_there = was_there || *end == '\0';
    } else if (errno != ENOENT) {
      throw Error({ErrorCode::kFileUnwritable,
                   errno,
                   fmt::format("{} can't be deleted", name),
                   "see whether its folder can be written",
                   {}});
    }
  }
  return was_there;
}

}  // namespace tracer
