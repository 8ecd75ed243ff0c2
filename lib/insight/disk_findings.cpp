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

void DiskFindings::process_lived(const ProcessSpan& span, std::vector<Event>&) {
  Work* const known = works_.make(*span.process);
  if (known == nullptr) return;
  Work& work = *known;
  work.window_disk_ns += span.change.ledger.disk_ns;
  if (span.total.ledger.disk_ns > work.waiter_ns) {
    work.waiter_ns = span.total.ledger.disk_ns;
    work.waiter = span.process;
  }
}

void DiskFindings::device_sampled(const DeviceSample& sample, const std::shared_ptr<const Process>& heaviest) {
  if (devices_.size() < kMostNeighbors) devices_.push_back({sample, heaviest ? heaviest->uid : std::nullopt});
}

void DiskFindings::file_used(const FileUse& use) {
  if (!use.device || !use.inode || !use.path || use.size_bytes.value_or(0) < kLeastFile_bytes) return;
  // What another user's process in it reads is not named.
  if (!book_.is_own(*use.process)) return;
  Work* const known = works_.find(*use.process);
  if (known == nullptr) return;
  auto& files = known->files;
  const FileId key = file_id(use);
  if (files.size() >= kMostFiles && !files.contains(key)) return;
  File& file = files[key];
  // Where that is not known, it may have begun one; recordings of before, without generations, know it by `created`.
  const bool may_begin = use.created || (use.generation && use.opened_to_write);
  const std::uint64_t begun = use.contents_begun.value_or(may_begin ? 1 : 0);
  const bool reads_earlier = use.read_earlier_content.value_or(use.generation.has_value());
  // It has not been read yet, unless that began later: events come when processes end.
  if (begun != 0 && use.last_close_ns > file.read_from_ns) file = {};
  file.path = *use.path;
  file.size_bytes = std::max(file.size_bytes, *use.size_bytes);
  file.opens += use.opens;
  if (!use.read_bytes || begun + (reads_earlier ? 1 : 0) > 1) return;
  file.read_from_ns = std::min(file.read_from_ns, use.first_open_ns.value_or(use.process->start_ns));
  file.read_bytes += *use.read_bytes;
  file.process = use.process;
  file.euid = use.euid;
}

/// A task's waits are for the device that is busy, where no other is.
void DiskFindings::snapshot_ended(const SnapshotEnd& snapshot, std::vector<Event>&) {
  if (devices_.empty()) return;
  const std::uint64_t least_busy = book_.rules().limit("disk_contention", "least_busy_percent");
  const std::uint64_t least_bytes = book_.rules().limit("disk_contention", "least_neighbor_percent");
  const DeviceSample* only = nullptr;
  std::optional<std::uint32_t> uid;
  std::size_t busy = 0;
  for (const auto& [each, heaviest_uid] : devices_) {
    const std::uint64_t window_ns = snapshot.time_ns - std::min(each.since_ns, snapshot.time_ns);
    if (!each.busy_ns || percent(*each.busy_ns, window_ns) < least_busy) continue;
    ++busy;
    only = &each;
    uid = heaviest_uid;
  }
  const bool is_known = busy == 1 && only->heaviest_pid && only->heaviest_bytes &&
                        percent(*only->heaviest_bytes, only->read_bytes + only->written_bytes) >= least_bytes;
  const ScopeId neighbor = is_known ? book_.scopes().id_of(*only->context) : ScopeId::kNone;
  works_.each([&](ScopeId id, Work& work) {
    const std::uint64_t disk_ns = std::exchange(work.window_disk_ns, 0);
    if (!is_known || id == neighbor || disk_ns == 0) return;
    work.contended_ns += disk_ns;
    const NeighborId who(neighbor, uid);
    if (work.neighbors.size() >= kMostNeighbors && !work.neighbors.contains(who)) return;
    Neighbor& entry = work.neighbors[who];
    entry.tool = only->heaviest_tool.value_or("another program");
    entry.context = only->context;
    entry.contended_ns += disk_ns;
  });
  devices_.clear();
}

void DiskFindings::look_at_contention(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) {
  const Work* const known = works_.find(figures.id);
  if (known == nullptr || (figures.is_run && figures.by_tasks) || !figures.whole) return;
  const Work& work = *known;
  constexpr std::string_view kCode = "disk_contention";
  const std::uint64_t wall_ns = figures.now_ns - std::min(figures.begin_ns, figures.now_ns);
  // Its processes may have waited at the same time.
  const std::uint64_t contended_ns = std::min(work.contended_ns, certain_ns(figures.ledger, figures.ledger.disk_ns));
  FindingDraft draft = draft_of(kCode, figures, work.waiter);
  const bool holds = !work.neighbors.empty() && wall_ns >= book_.rules().limit(kCode, "least_wall_ns") &&
                     contended_ns >= book_.rules().limit(kCode, "least_wait_ns") &&
                     percent(contended_ns, wall_ns) >= book_.rules().limit(kCode, "least_percent");
  if (!holds && !book_.is_open(draft)) return;
  const auto& [id, most] =
      *std::max_element(work.neighbors.begin(), work.neighbors.end(),
                        [](const auto& a, const auto& b) { return a.second.contended_ns < b.second.contended_ns; });
  draft.confidence = "medium";
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
  FindingDraft draft = draft_of(kCode, figures, most->process);
  draft.evidence = {words("path", most->path),
                    figure("read_bytes", most->read_bytes, "bytes"),
                    figure("size_bytes", most->size_bytes, "bytes"),
                    figure("percent", percent(most->read_bytes, most->size_bytes), "percent"),
                    figure("times", most->read_bytes / most->size_bytes, "count"),
                    figure("opens", most->opens, "count")};
  add_other_user(draft, most->euid);
  book_.report(draft, time_ns, events);
}

void DiskFindings::scope_ended(const ScopeEnd& end, std::vector<Event>& events) {
  const Work* const known = works_.find(end.id);
  if (known == nullptr) return;
  if (end.figures && !end.figures->by_tasks) {
    look_at_contention(*end.figures, end.time_ns, events);
    look_at_files(*end.figures, *known, end.time_ns, events);
  }
  works_.erase(end.id);
}

}  // namespace tracer::internal
