// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/restart_kernel.hpp"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <tracer/key.hpp>

#include "base/key_hash.hpp"
#include "source/kernel/load/libbpf_log.hpp"
#include "source/kernel/load/print_of_wire.hpp"

namespace tracer::internal {
namespace {

std::string name_of(const char* kind, Family family, std::string_view name) {
  return fmt::format("{}.{}.{}", kind, info_of(family).name, name);
}

/// An iterator sees nothing by itself: the next process attaches one of its own.
bool is_iterator(const bpf_program& program) { return ::bpf_program__expected_attach_type(&program) == BPF_TRACE_ITER; }

template <class Take>
void for_each_map(const bpf_object& object, const Take& take) {
  bpf_map* map = nullptr;
  while ((map = ::bpf_object__next_map(&object, map)) != nullptr) take(*map);
}

template <class Take>
void for_each_program(const bpf_object& object, const Take& take) {
  bpf_program* program = nullptr;
  while ((program = ::bpf_object__next_program(&object, program)) != nullptr)
    if (::bpf_program__autoload(program)) take(*program);
}

/// Of an open object: its instructions, and the layout of its maps. What they are fitted to, the kernel, is the same
/// for as long as a descriptor lives.
std::string fingerprint(const bpf_object& object) {
  KeyHash hash;
  for_each_map(object, [&](bpf_map& map) {
    hash.add(::bpf_map__name(&map));
    hash.add(fmt::format("{} {} {} {} {}", static_cast<int>(::bpf_map__type(&map)), ::bpf_map__key_size(&map),
                         ::bpf_map__value_size(&map), ::bpf_map__max_entries(&map), ::bpf_map__map_flags(&map)));
    std::size_t bytes = 0;
    // The constants that the programs were loaded with, and the variables' first values.
    const void* const initial = ::bpf_map__initial_value(&map, &bytes);
    if (initial != nullptr) hash.add(std::string_view(static_cast<const char*>(initial), bytes));
  });
  for_each_program(object, [&](bpf_program& program) {
    hash.add(::bpf_program__name(&program)).add(::bpf_program__section_name(&program));
    hash.add(std::string_view(reinterpret_cast<const char*>(::bpf_program__insns(&program)),
                              ::bpf_program__insn_cnt(&program) * sizeof(bpf_insn)));
  });
  return to_string(hash.key());
}

}  // namespace

void KeptKernel::begin_anew() noexcept {
  left_prints_.clear();
  noted_.clear();
  prints_.clear();
  shared_.clear();
}

UniqueFd KeptKernel::take(std::string_view name) {
  const auto found = left_.find(name);
  if (found == left_.end()) return {};
  UniqueFd fd = std::move(found->second);
  left_.erase(found);
  return fd;
}

int KeptKernel::find(std::string_view name) const {
  const auto found = left_.find(name);
  return found == left_.end() ? -1 : found->second.get();
}

bool KeptKernel::has_link(Family family, std::string_view program) const {
  return continues() && find(name_of("link", family, program)) >= 0;
}

void KeptKernel::offer_maps(Family family, bpf_object& object) {
  const std::string name(info_of(family).name);
  const std::string print = fingerprint(object);
  const auto left = left_prints_.find(name);
  prints_[name] = print;
  for_each_map(object, [&](bpf_map& map) {
    if (::bpf_map__fd(&map) >= 0) shared_.insert(name_of("map", family, ::bpf_map__name(&map)));
  });
  if (left == left_prints_.end()) return;
  if (left->second != print) throw OtherKernelSide();
  for_each_program(object, [&](bpf_program& program) {
    if (find(name_of("program", family, ::bpf_program__name(&program))) < 0) throw OtherKernelSide();
  });
  for_each_map(object, [&](bpf_map& map) {
    if (::bpf_map__fd(&map) >= 0) return;
    const int fd = find(name_of("map", family, ::bpf_map__name(&map)));
    if (fd < 0 || ::bpf_map__reuse_fd(&map, fd) != 0) throw OtherKernelSide();
  });
}

void KeptKernel::take_programs(Family family, const bpf_object& object) {
  if (!left_prints_.contains(info_of(family).name)) return;
  for_each_program(object, [&](bpf_program& program) {
    const int left = find(name_of("program", family, ::bpf_program__name(&program)));
    if (::dup3(left, ::bpf_program__fd(&program), O_CLOEXEC) < 0) throw OtherKernelSide();
  });
  // Since 1.5, libbpf maps the variables of maps that it has made itself only.
  for_each_map(object, [](bpf_map& map) {
    std::size_t bytes = 0;
    void* const variables = const_cast<void*>(static_cast<const void*>(::bpf_map__initial_value(&map, &bytes)));
    const std::uint32_t flags = ::bpf_map__map_flags(&map);
    if (variables == nullptr || (flags & BPF_F_MMAPABLE) == 0) return;
    const int protection = (flags & BPF_F_RDONLY_PROG) != 0 ? PROT_READ : PROT_READ | PROT_WRITE;
    if (::mmap(variables, bytes, protection, MAP_SHARED | MAP_FIXED, ::bpf_map__fd(&map), 0) == MAP_FAILED)
      throw OtherKernelSide();
  });
}

std::vector<UniqueFd> KeptKernel::take_links(Family family, const bpf_object& object) {
  std::vector<UniqueFd> links;
  if (!left_prints_.contains(info_of(family).name)) return links;
  for_each_program(object, [&](bpf_program& program) {
    UniqueFd link = take(name_of("link", family, ::bpf_program__name(&program)));
    if (!link) return;
    ::bpf_program__set_autoattach(&program, false);
    noted_.emplace(name_of("link", family, ::bpf_program__name(&program)), link.get());
    links.push_back(std::move(link));
  });
  return links;
}

void KeptKernel::note(Family family, const bpf_object_skeleton& skeleton) {
  const bpf_object& object = **skeleton.obj;
  for_each_map(object, [&](bpf_map& map) {
    std::string name = name_of("map", family, ::bpf_map__name(&map));
    if (::bpf_map__fd(&map) >= 0 && !shared_.contains(name)) noted_.emplace(std::move(name), ::bpf_map__fd(&map));
  });
  for_each_program(object, [&](bpf_program& program) {
    if (::bpf_program__fd(&program) >= 0)
      noted_.emplace(name_of("program", family, ::bpf_program__name(&program)), ::bpf_program__fd(&program));
  });
  const auto* const programs = reinterpret_cast<const std::byte*>(skeleton.progs);
  for (int i = 0; i < skeleton.prog_cnt; ++i) {
    const auto* const each = reinterpret_cast<const bpf_prog_skeleton*>(programs + i * skeleton.prog_skel_sz);
    if (each->link == nullptr || *each->link == nullptr || is_iterator(**each->prog)) continue;
    noted_.emplace(name_of("link", family, each->name), ::bpf_link__fd(*each->link));
  }
}

void KeptKernel::drop(Family family) {
  const std::string begin = name_of("link", family, "");
  for (auto each = noted_.lower_bound(begin); each != noted_.end() && each->first.starts_with(begin);) {
    if (drop_) drop_(each->first);
    each = noted_.erase(each);
  }
}

std::string KeptKernel::form_of_now() { return std::string(print_of_wire()); }

std::vector<UniqueFd> KeptKernel::take_left_rings() {
  std::vector<UniqueFd> rings;
  for (std::uint32_t number = 0;; ++number) {
    UniqueFd ring = take(fmt::format("ring.{}", number));
    if (!ring) break;
    rings.push_back(std::move(ring));
  }
  if (rings.empty())
    if (UniqueFd only = take_left_map(Family::kLifecycle, "events")) rings.push_back(std::move(only));
  return rings;
}

UniqueFd KeptKernel::take_left_map(Family family, std::string_view name) { return take(name_of("map", family, name)); }

void KeptKernel::end_left() {
  left_.clear();
  if (end_left_) end_left_();
}

UniqueFd KeptKernel::take_ring(std::uint32_t number) {
  if (!continues()) return {};
  return take(fmt::format("ring.{}", number));
}

void KeptKernel::note_ring(std::uint32_t number, int map) { noted_.emplace(fmt::format("ring.{}", number), map); }

}  // namespace tracer::internal
