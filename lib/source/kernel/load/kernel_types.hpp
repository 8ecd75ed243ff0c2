// SPDX-License-Identifier: Apache-2.0
/// What the running kernel has, by its own type information.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct btf;

namespace tracer::internal {

/// The kernel's BTF; empty when there is none.
class KernelTypes {
 public:
  KernelTypes();
  ~KernelTypes();
  KernelTypes(const KernelTypes&) = delete;
  KernelTypes& operator=(const KernelTypes&) = delete;

  /// Frees what it has read: it is empty afterwards.
  void forget() noexcept;

  bool available() const noexcept { return btf_ != nullptr; }
  bool has_tracepoint(const std::string& name) const;
  bool has_function(const char* name) const;
  /// Since 6.2 the counters of resident memory are per CPU.
  bool has_per_cpu_rss() const;
  /// Whether the kernel's structure has the member, be it in an unnamed part of it.
  bool has_member(const std::string& structure, std::string_view member) const;
  /// BPF_FUNC_...
  bool has_helper(std::string_view name) const;
  /// Counts of programs that tell what they were before: since 5.12, on arm64 since 5.18 (1902472b4fa9); by helpers
  /// that came then or with the next version.
  bool has_fetching_atomics() const;
  bool has_ring_buffer() const;
  bool has_task_iterator() const;
  bool has_file_iterator() const;
  /// Of cgroups of the v2 hierarchy, with memory controller; by the function behind memory.peak.
  bool has_cgroup_peak() const;
  /// CONFIG_FAIR_GROUP_SCHED: a task leads to its run queue.
  bool has_run_queues() const;
  /// CONFIG_CFS_BANDWIDTH.
  bool has_cpu_limits() const;
  /// By the prototype: since 6.16 the tracepoint says whether the group is dead, and the memory is still there.
  bool exit_has_memory() const;
  /// Likewise: since 5.19 the tracepoint of a switch tells the state in which a task gave up its CPU.
  bool switch_tells_state() const;
  /// Likewise: the tracepoint mark_victim has the task that is killed, since 6.10 and in stable releases; else its pid.
  bool victim_is_task() const;
  /// Likewise: the tracepoint kmem_cache_free says from which cache, and files are freed at their last close,
  /// since 6.7.
  bool frees_files_at_close() const;
  /// Likewise: before 5.11 the tracepoints block_rq_issue and block_bio_queue have the queue, too, before the request.
  bool issue_has_queue() const;
  bool bio_queue_has_queue() const;
  /// Likewise: since 5.12, and in stable releases, vfs_rename has one argument, a structure.
  bool rename_has_structure() const;
  /// Likewise: since 5.12 vfs_unlink has, before all others, how the mount maps users.
  bool unlink_has_mapping() const;

 private:
  /// Arguments of a tracepoint's programs, the one that they don't see among them; 0: there is none.
  unsigned arguments_of(const char* tracepoint) const;
  unsigned arguments_of_function(const char* function) const;

  struct ::btf* btf_ = nullptr;
};

/// How the v1 hierarchies of the controllers that containers use are mounted.
struct CgroupLayout {
  bool memory_is_v1 = false;
  bool pids_is_v1 = false;
};
CgroupLayout cgroup_layout();

}  // namespace tracer::internal
