// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/kernel_types.hpp"

#include <bpf/btf.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "source/kernel/load/libbpf_log.hpp"

namespace tracer::internal {
namespace {

bool type_has_member(const btf* types, __u32 id, std::string_view wanted) {
  const btf_type* type = ::btf__type_by_id(types, id);
  if (type == nullptr || !::btf_is_composite(type)) return false;
  const std::span members(::btf_members(type), ::btf_vlen(type));
  return std::any_of(members.begin(), members.end(), [&](const btf_member& member) {
    const std::string_view name = ::btf__name_by_offset(types, member.name_off);
    return name.empty() ? type_has_member(types, member.type, wanted) : name == wanted;
  });
}

}  // namespace

KernelTypes::KernelTypes() {
  const LibbpfLog quiet;
  btf_ = ::btf__load_vmlinux_btf();
}

KernelTypes::~KernelTypes() { forget(); }

void KernelTypes::forget() noexcept { ::btf__free(std::exchange(btf_, nullptr)); }

bool KernelTypes::has_tracepoint(const std::string& name) const {
  if (btf_ == nullptr) return false;
  return ::btf__find_by_name_kind(btf_, ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF) > 0;
}

bool KernelTypes::has_function(const char* name) const {
  return btf_ != nullptr && ::btf__find_by_name_kind(btf_, name, BTF_KIND_FUNC) > 0;
}

bool KernelTypes::has_per_cpu_rss() const {
  return btf_ != nullptr && ::btf__find_by_name_kind(btf_, "mm_rss_stat", BTF_KIND_STRUCT) <= 0;
}

unsigned KernelTypes::arguments_of(const char* tracepoint) const {
  if (btf_ == nullptr) return 0;
  const int id = ::btf__find_by_name_kind(btf_, (std::string("btf_trace_") + tracepoint).c_str(), BTF_KIND_TYPEDEF);
  if (id <= 0) return 0;
  const btf_type* type = ::btf__type_by_id(btf_, static_cast<__u32>(id));
  while (type != nullptr && (::btf_is_typedef(type) || ::btf_is_ptr(type))) type = ::btf__type_by_id(btf_, type->type);
  return type != nullptr && ::btf_is_func_proto(type) ? ::btf_vlen(type) : 0;
}

unsigned KernelTypes::arguments_of_function(const char* function) const {
  const int id = btf_ == nullptr ? 0 : ::btf__find_by_name_kind(btf_, function, BTF_KIND_FUNC);
  if (id <= 0) return 0;
  const btf_type* const type = ::btf__type_by_id(btf_, ::btf__type_by_id(btf_, static_cast<__u32>(id))->type);
  return type != nullptr && ::btf_is_func_proto(type) ? ::btf_vlen(type) : 0;
}

bool KernelTypes::exit_has_memory() const { return arguments_of("sched_process_exit") >= 3; }
bool KernelTypes::switch_tells_state() const { return arguments_of("sched_switch") >= 5; }

bool KernelTypes::victim_is_task() const { return arguments_of("mark_victim") >= 3; }

bool KernelTypes::issue_has_queue() const { return arguments_of("block_rq_issue") >= 3; }
bool KernelTypes::bio_queue_has_queue() const { return arguments_of("block_bio_queue") >= 3; }

bool KernelTypes::rename_has_structure() const { return arguments_of_function("vfs_rename") == 1; }
bool KernelTypes::unlink_has_mapping() const { return arguments_of_function("vfs_unlink") >= 4; }

bool KernelTypes::frees_files_at_close() const {
  return arguments_of("kmem_cache_free") >= 4 && !has_member("file", "f_rcuhead");
}

bool KernelTypes::has_member(const std::string& structure, std::string_view member) const {
  const int id = btf_ == nullptr ? 0 : ::btf__find_by_name_kind(btf_, structure.c_str(), BTF_KIND_STRUCT);
  return id > 0 && type_has_member(btf_, static_cast<__u32>(id), member);
}

bool KernelTypes::has_helper(std::string_view name) const {
  const int id = btf_ == nullptr ? 0 : ::btf__find_by_name_kind(btf_, "bpf_func_id", BTF_KIND_ENUM);
  if (id <= 0) return false;
  const btf_type* type = ::btf__type_by_id(btf_, static_cast<__u32>(id));
  const std::span values(::btf_enum(type), ::btf_vlen(type));
  return std::any_of(values.begin(), values.end(), [&](const struct btf_enum& value) {
    return std::string_view(::btf__name_by_offset(btf_, value.name_off)) == name;
  });
}

bool KernelTypes::has_fetching_atomics() const {
#ifdef __aarch64__
  return has_helper("BPF_FUNC_copy_from_user_task");
#else
  return has_helper("BPF_FUNC_for_each_map_elem");
#endif
}

bool KernelTypes::has_ring_buffer() const {
  return btf_ != nullptr && ::btf__find_by_name_kind(btf_, "bpf_ringbuf", BTF_KIND_STRUCT) > 0;
}

bool KernelTypes::has_task_iterator() const {
  return btf_ != nullptr && ::btf__find_by_name_kind(btf_, "bpf_iter_task", BTF_KIND_FUNC) > 0;
}

bool KernelTypes::has_cgroup_peak() const {
  if (btf_ == nullptr) return false;
  // Its name before 6.12, and since.
  return ::btf__find_by_name_kind(btf_, "memory_peak_read", BTF_KIND_FUNC) > 0 ||
         ::btf__find_by_name_kind(btf_, "memory_peak_show", BTF_KIND_FUNC) > 0;
}

bool KernelTypes::has_run_queues() const { return has_member("cfs_rq", "rq"); }

bool KernelTypes::has_cpu_limits() const {
  const int id = btf_ == nullptr ? 0 : ::btf__find_by_name_kind(btf_, "cfs_bandwidth", BTF_KIND_STRUCT);
  return id > 0 && ::btf_vlen(::btf__type_by_id(btf_, static_cast<__u32>(id))) > 0;
}

bool KernelTypes::has_file_iterator() const {
  return btf_ != nullptr && ::btf__find_by_name_kind(btf_, "bpf_iter_task_file", BTF_KIND_FUNC) > 0;
}

CgroupLayout cgroup_layout() {
  CgroupLayout layout;
  const auto text = read_small_file("/proc/cgroups");
  if (!text) return layout;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    unsigned hierarchy = 0;
    if (!(words >> name >> hierarchy) || hierarchy == 0) continue;
    if (name == "memory") layout.memory_is_v1 = true;
    if (name == "pids") layout.pids_is_v1 = true;
  }
  return layout;
}

}  // namespace tracer::internal
