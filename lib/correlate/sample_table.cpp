// SPDX-License-Identifier: Apache-2.0
#include "correlate/sample_table.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "correlate/account.hpp"
#include "correlate/ledger.hpp"

namespace tracer::internal {
namespace {

/// Less is not worth a walk through its page tables.
constexpr std::uint64_t kLeastSharedBytes = 4u << 20;
/// Of mapped files: they may be mapped more than once, or by several programs.
constexpr std::uint64_t kLeastFileBytes = 64u << 20;
/// About a tenth of a second for one process: how many of its pages are files' matters less than what it holds else.
constexpr std::uint64_t kMostFileBytesToWalk = std::uint64_t{8} << 30;
/// About a second for one process, which nothing interrupts.
constexpr std::uint64_t kMostBytesToWalk = std::uint64_t{100} << 30;

std::uint64_t resident_bytes(const ProcessSample& sample) {
  return sample.rss_anonymous_bytes.value_or(0) + sample.rss_file_bytes.value_or(0) +
         sample.rss_shared_bytes.value_or(0);
}

const char* state_name(ThreadState state) {
  switch (state) {
    case ThreadState::kRunning: return "running";
    case ThreadState::kSleeping: return "sleeping";
    case ThreadState::kUninterruptible: return "uninterruptible";
    case ThreadState::kStopped: break;
  }
  return "stopped";
}

}  // namespace

void SampleTable::add(const ThreadRecord& record, std::shared_ptr<const Process> process,
                      std::optional<std::uint64_t> attached_ns, const ProcessSums& before,
                      std::optional<std::uint64_t> calls_before_exec) {
  Sampling& sampling = samples_[record.identity.pid];
  ProcessSample& sample = sampling.sample;
  sampling.sums.total = sum_of(sampling.sums.total, record.sum);
  sampling.sums.waits = sum_of(sampling.sums.waits, record.waits);
  if (record.process_waits.life_ns != 0) sampling.sums.process_waits = record.process_waits;
  sampling.sums.missed_children_cpu_ns += record.missed_children_cpu_ns;
  sampling.read_before_exec_bytes = record.read_before_exec_bytes;
  sampling.calls_before_exec = calls_before_exec;
  sampling.flags = record.flags;
  sampling.before = before;
  sample.process = std::move(process);
  sample.attached_ns = attached_ns;
  sample.time_ns = record.identity.time_ns;
  sample.threads = sample.threads.value_or(0) + (record.lives ? record.threads : 0);
  if (record.lives && record.state && !sample.state) sample.state = state_name(*record.state);
  if (!record.memory) return;
  const bool own = !sampling.borrows_memory();
  sample.rss_anonymous_bytes = own ? bytes_of_pages(record.memory->anonymous_pages) : 0;
  sample.rss_file_bytes = own ? bytes_of_pages(record.memory->file_pages) : 0;
  sample.rss_shared_bytes = own ? bytes_of_pages(record.memory->shared_pages + record.memory->huge_pages) : 0;
  sampling.has_huge_pages = own && record.memory->huge_pages != 0;
}

/// Whose memory is, to an extent that matters, others', too: copies that have executed nothing, with all that run the
/// same executable, as the one that they are copies of does; and those with shared memory.
SampleTable::Pids SampleTable::sharing() const {
  std::map<std::string, std::uint64_t> copied_bytes;  // by executable
  std::uint64_t shared_bytes = 0;
  for (const auto& [pid, each] : samples_) {
    shared_bytes += each.sample.rss_shared_bytes.value_or(0);
    if (each.is_copy())
      copied_bytes[each.sample.process->program->exe.value_or("")] += each.sample.rss_anonymous_bytes.value_or(0);
  }
  Pids pids;
  for (const auto& [pid, each] : samples_) {
    if (each.borrows_memory()) continue;
    const auto copied = copied_bytes.find(each.sample.process->program->exe.value_or(""));
    const bool shares = shared_bytes >= kLeastSharedBytes && each.sample.rss_shared_bytes.value_or(0) != 0;
    if (shares || (copied != copied_bytes.end() && copied->second >= kLeastSharedBytes)) pids.insert(pid);
  }
  return pids;
}

/// Each of those gets its share.
void SampleTable::share_out_memory() {
  if (host_ == nullptr) return;
  Pids pids = sharing();
  const auto until = std::chrono::steady_clock::now() + most_time_for_shares_;
  // One that ends meanwhile leaves its share to the others: all are read again, until nothing has changed.
  constexpr int kMostRounds = 3;
  for (int round = 0; round < kMostRounds && !pids.empty(); ++round)
    if (read_shares(pids, until)) return;
  for (const std::uint32_t pid : pids) forget_memory(pid);
}

/// Where the share of one can't be read it has all of its files; who has ended by now is reported as that.
void SampleTable::share_out_files() {
  if (host_ == nullptr) return;
  const auto until = std::chrono::steady_clock::now() + most_time_for_shares_;
  const std::uint64_t huge_sharers = count_of_huge();
  for (auto& [pid, each] : samples_) {
    ProcessSample& sample = each.sample;
    if (sample.pss_bytes || sample.rss_file_bytes.value_or(0) < kLeastFileBytes) continue;
    if (resident_bytes(sample) > kMostFileBytesToWalk || std::chrono::steady_clock::now() >= until) continue;
    if (const auto share = host_->pss_bytes(pid, huge_sharers); share.value_or(0) != 0) sample.pss_bytes = share;
  }
}

/// Those that may have huge pages in common.
std::uint64_t SampleTable::count_of_huge() const {
  return static_cast<std::uint64_t>(
      std::count_if(samples_.begin(), samples_.end(), [](const auto& each) { return each.second.has_huge_pages; }));
}

/// True: in the meantime none ended, and the share of the one that was read first is still the same.
bool SampleTable::read_shares(Pids& pids, std::chrono::steady_clock::time_point until) {
  const auto in_time = [&](std::uint32_t pid) {
    return std::chrono::steady_clock::now() < until && resident_bytes(samples_[pid].sample) <= kMostBytesToWalk;
  };
  const std::uint64_t huge_sharers = count_of_huge();
  bool changed = false;
  std::erase_if(pids, [&](std::uint32_t pid) {
    const auto share = in_time(pid) ? host_->pss_bytes(pid, huge_sharers) : std::nullopt;
    samples_[pid].sample.pss_bytes = share;
    if (!share) forget_memory(pid);
    if (share == std::uint64_t{0}) {
      changed = true;
      samples_.erase(pid);
    }
    return share.value_or(0) == 0;
  });
  if (pids.empty()) return true;
  if (changed || !in_time(*pids.begin())) return false;
  const std::uint64_t first = *samples_[*pids.begin()].sample.pss_bytes;
  const std::uint64_t again = host_->pss_bytes(*pids.begin(), huge_sharers).value_or(0);
  return std::max(first, again) - std::min(first, again) <= first / 100;
}

/// Unknown is better than wrong.
void SampleTable::forget_memory(std::uint32_t pid) {
  ProcessSample& sample = samples_[pid].sample;
  sample.pss_bytes.reset();
  sample.rss_anonymous_bytes.reset();
  sample.rss_file_bytes.reset();
  sample.rss_shared_bytes.reset();
}

std::vector<ProcessSample> SampleTable::take() {
  std::vector<ProcessSample> samples;
  samples.reserve(samples_.size());
  share_out_memory();
  share_out_files();
  for (auto& [pid, each] : samples_) {
    const std::uint64_t read_before_exec_bytes =
        each.read_before_exec_bytes - std::min(each.read_before_exec_bytes, each.before.total.read_bytes);
    each.sample.account =
        living_account(difference(each.sums, each.before), read_before_exec_bytes, each.flags, each.calls_before_exec);
    each.sample.progress = progress_.of(pid, each.sample.process->start_ns);
    samples.push_back(std::move(each.sample));
  }
  samples_.clear();
  return samples;
}

}  // namespace tracer::internal
