// SPDX-License-Identifier: Apache-2.0
#include "insight/disk_findings.hpp"

#include <algorithm>

#include "base/certain_waits.hpp"
#include "context/same_owner.hpp"
#include "context/task_name.hpp"
#include "insight/shares.hpp"

namespace tracer::internal {
namespace {

/// A smaller file is read again at no cost.
constexpr std::uint64_t kLeastFile_bytes = 16 << 20;

}  // namespace

DiskFindings::DiskFindings(FindingBook& book) : book_(book), works_(book) {}

void DiskFindings::saw(const ProcessSpan& span) {
  Work* const known = works_.make(*span.process);
  if (known == nullptr) return;
  Work& work = *known;
  work.window_disk_ns += span.change.ledger.disk_ns;
  if (span.total.ledger.disk_ns > work.waiter_ns) {
    work.waiter_ns = span.total.ledger.disk_ns;
    work.waiter = span.process;
  }
}

void DiskFindings::saw(const DeviceSample& sample, const std::shared_ptr<const Process>& heaviest) {
  if (devices_.size() < kMostNeighbors) devices_.push_back({sample, heaviest ? heaviest->uid : std::nullopt});
}

void DiskFindings::saw(const FileUse& use) {
  if (!use.device || !use.inode || !use.path || !use.read_bytes || use.size_bytes.value_or(0) < kLeastFile_bytes)
    return;
  // What another user's process in it reads is not named.
  if (!book_.is_own(*use.process)) return;
  Work* const known = works_.find(*use.process);
  if (known == nullptr) return;
  auto& files = known->files;
  const std::pair key(*use.device, *use.inode);
  if (files.size() >= kMostFiles && !files.contains(key)) return;
  File& file = files[key];
  file.path = *use.path;
  file.size_bytes = std::max(file.size_bytes, *use.size_bytes);
  file.read_bytes += *use.read_bytes;
  file.opens += use.opens;
  file.process = use.process;
  file.euid = use.euid;
}

void DiskFindings::saw(const ContextChange& change) {
  works_.saw(change);
  for_each_new_key(change, [this](std::uint64_t from, std::uint64_t to) {
    works_.each([&](std::uint64_t, Work& work) { rename(work.neighbors, from, to); });
  });
}

void DiskFindings::rename(Neighbors& neighbors, std::uint64_t from, std::uint64_t to) {
  for (auto each = neighbors.lower_bound({from, {}}); each != neighbors.end() && each->first.first == from;) {
    auto node = neighbors.extract(each++);
    node.key().first = to;
    neighbors.insert(std::move(node));
  }
}

/// A task's waits are for the device that is busy, where no other is.
void DiskFindings::snapshot(std::uint64_t time_ns) {
  if (devices_.empty()) return;
  const std::uint64_t least_busy = book_.rules().limit("disk_contention", "least_busy_percent");
  const std::uint64_t least_bytes = book_.rules().limit("disk_contention", "least_neighbor_percent");
  const DeviceSample* only = nullptr;
  std::optional<std::uint32_t> uid;
  std::size_t busy = 0;
  for (const auto& [each, heaviest_uid] : devices_) {
    const std::uint64_t window_ns = time_ns - std::min(each.since_ns, time_ns);
    if (!each.busy_ns || percent(*each.busy_ns, window_ns) < least_busy) continue;
    ++busy;
    only = &each;
    uid = heaviest_uid;
  }
  const bool is_known = busy == 1 && only->heaviest_pid && only->heaviest_bytes &&
                        percent(*only->heaviest_bytes, only->read_bytes + only->written_bytes) >= least_bytes;
  const std::uint64_t neighbor = is_known ? work_key(*only->context) : 0;
  works_.each([&](std::uint64_t key, Work& work) {
    const std::uint64_t disk_ns = std::exchange(work.window_disk_ns, 0);
    if (!is_known || key == neighbor || disk_ns == 0) return;
    work.contended_ns += disk_ns;
    const NeighborId id(neighbor, uid);
    if (work.neighbors.size() >= kMostNeighbors && !work.neighbors.contains(id)) return;
    Neighbor& entry = work.neighbors[id];
    entry.tool = only->heaviest_tool.value_or("another program");
    entry.context = only->context;
    entry.contended_ns += disk_ns;
  });
  devices_.clear();
}

void DiskFindings::look_at_contention(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) {
  const Work* const known = works_.find(*figures.context, figures.is_run);
  if (known == nullptr || (figures.is_run && figures.by_tasks) || !figures.whole) return;
  const Work& work = *known;
  constexpr std::string_view kCode = "disk_contention";
  const std::uint64_t wall_ns = figures.now_ns - std::min(figures.begin_ns, figures.now_ns);
  // Its processes may have waited at the same time.
  const std::uint64_t contended_ns = std::min(work.contended_ns, certain_ns(figures.ledger, figures.ledger.disk_ns));
  FindingDraft draft;
  draft.code = kCode;
  draft.subject = figures.is_run ? "run" : "task";
  draft.context = figures.context;
  draft.process = work.waiter;
  const bool holds = !work.neighbors.empty() && wall_ns >= book_.rules().limit(kCode, "least_wall_ns") &&
                     contended_ns >= book_.rules().limit(kCode, "least_wait_ns") &&
                     percent(contended_ns, wall_ns) >= book_.rules().limit(kCode, "least_percent");
  if (!holds && !book_.is_open(draft)) return;
  const auto& [id, most] =
      *std::max_element(work.neighbors.begin(), work.neighbors.end(),
                        [](const auto& a, const auto& b) { return a.second.contended_ns < b.second.contended_ns; });
  draft.confidence = "medium";
  draft.first_ns = figures.begin_ns;
  draft.last_ns = figures.now_ns;
  draft.closed = figures.finished;
  draft.evidence = {figure("contended_ns", contended_ns, "ns"), figure("wall_ns", wall_ns, "ns"),
                    figure("percent", percent(contended_ns, wall_ns), "percent")};
  const bool is_own = book_.may_name(draft, *most.context, id.second);
  draft.evidence.push_back(words("neighbor", is_own ? most.tool : std::string(kAnothersProgram)));
  const std::string task = task_name(*most.context);
  if (!task.empty() && same_owner(*draft.context, *most.context))
    draft.evidence.push_back(words("neighbor_task", task));
  book_.report(draft, time_ns, events);
}

void DiskFindings::look_at_files(const ScopeFigures& figures, const Work& work, std::uint64_t time_ns,
                                 std::vector<Event>& events) {
  constexpr std::string_view kCode = "read_again";
  const std::uint64_t least_percent = book_.rules().limit(kCode, "least_percent");
  const std::uint64_t least_bytes = book_.rules().limit(kCode, "least_read_bytes");
  const std::uint64_t wall_ns = figures.now_ns - std::min(figures.begin_ns, figures.now_ns);
  if (wall_ns < book_.rules().limit(kCode, "least_wall_ns")) return;
  const File* most = nullptr;
  for (const auto& [id, file] : work.files) {
    if (file.read_bytes < least_bytes || percent(file.read_bytes, file.size_bytes) < least_percent) continue;
    if (most == nullptr || file.read_bytes - file.size_bytes > most->read_bytes - most->size_bytes) most = &file;
  }
  if (most == nullptr) return;
  FindingDraft draft;
  draft.code = kCode;
  draft.subject = figures.is_run ? "run" : "task";
  draft.context = figures.context;
  draft.process = most->process;
  draft.first_ns = figures.begin_ns;
  draft.last_ns = figures.now_ns;
  draft.closed = true;
  draft.evidence = {words("path", most->path),
                    figure("read_bytes", most->read_bytes, "bytes"),
                    figure("size_bytes", most->size_bytes, "bytes"),
                    figure("percent", percent(most->read_bytes, most->size_bytes), "percent"),
                    figure("times", most->read_bytes / most->size_bytes, "count"),
                    figure("opens", most->opens, "count")};
  add_other_user(draft, most->euid);
  book_.report(draft, time_ns, events);
}

void DiskFindings::finished(const Context& context, bool is_run, const std::optional<ScopeFigures>& figures,
                            std::uint64_t time_ns, std::vector<Event>& events) {
  const Work* const known = works_.find(context, is_run);
  if (known == nullptr) return;
  if (figures && !(is_run && figures->by_tasks)) {
    look_at_contention(*figures, time_ns, events);
    look_at_files(*figures, *known, time_ns, events);
  }
  works_.erase(context, is_run);
}

}  // namespace tracer::internal
