// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/snapshots.hpp"

#include <span>
#include <vector>

#include "wire.h"

#include "lifecycle.skel.h"
#include "snapshots.skel.h"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/visit/iterator.hpp"
#include "source/kernel/load/shared_maps.hpp"
#include "source/kernel/ring/wire_reading.hpp"

namespace tracer::internal {
namespace {

constexpr std::uint64_t kLeastFileBytes = 256u << 10;
bool take_file(std::span<const std::byte> bytes, FileRecord& record) {
  tracer_wire_file wire;
  if (!take(bytes, wire)) return false;
  record.pid = wire.header.pid;
  record.start_ns = wire.header.start_ns;
  record.time_ns = wire.header.time_ns;
  record.inode = wire.inode;
  record.size_bytes = wire.size_bytes;
  record.position_bytes = wire.position_bytes;
  record.device = wire.device;
  record.fd = wire.fd;
  record.readable = wire.readable != 0;
  record.writable = wire.writable != 0;
  record.name = text_in(wire.name);
  return true;
}

constexpr WireRecord kSnapshotRecords[] = {{TRACER_WIRE_FILE, decode_as<FileRecord, take_file>}};

}  // namespace

SnapshotsFamily::SnapshotsFamily() noexcept = default;
SnapshotsFamily::~SnapshotsFamily() = default;

void SnapshotsFamily::check(const KernelTypes& types, std::vector<CheckItem>& items) const {
  items.push_back(feature_item("iterator over open files", types.has_file_iterator(),
                               "family snapshots: progress in files", "5.8"));
  items.push_back(feature_item("peak memory of v2 cgroups", types.has_cgroup_peak(),
                               "family snapshots: the kernel's own peak of a cgroup (else memory_peak_bytes is null)",
                               "5.19"));
}

std::span<const WireRecord> SnapshotsFamily::records() const noexcept { return kSnapshotRecords; }

void SnapshotsFamily::load(FamilySetup& setup) {
  skeleton_.load(id(), setup.keep, &::snapshots_bpf__open_opts, &::snapshots_bpf__destroy,
                 [&](snapshots_bpf& bpf, const LibbpfLog& log) {
                   bpf.rodata->slot_mask = setup.places - 1;
                   bpf.rodata->least_bytes = kLeastFileBytes;
                   share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsOfProcesses, log);
                 });
  living_tasks_ = setup.lifecycle->progs.living_tasks;
}

void SnapshotsFamily::unload(FamilySetup&) noexcept { skeleton_.unload(); }

void SnapshotsFamily::attach() { skeleton_.attach(id()); }

void SnapshotsFamily::detach() noexcept { skeleton_.detach(); }

void SnapshotsFamily::saw(const tracer_wire_thread& thread) {
  cgroup_memory_.saw(thread.header.pid, static_cast<Hierarchy>(thread.identity.hierarchy), thread.identity.cgroup_id);
}

void SnapshotsFamily::read(Decoder& decoder, Feed& feed, const SnapshotHelp& help) {
  read_iterator_as<tracer_wire_file>(skeleton_->links.open_files, [&](std::span<const tracer_wire_file> files) {
    for (const tracer_wire_file& file : files) decoder.feed(std::as_bytes(std::span(&file, 1)), feed);
    help.between();
  });
  cgroup_memory_.read(feed, help.tracks, help.between);
}

const bpf_object* SnapshotsFamily::object() const noexcept { return &skeleton_.object(); }

ProgramSums SnapshotsFamily::usage() const {
  ProgramSums sums = sums_of_programs(*object());
  sums.run_ns += sums_of(*living_tasks_).run_ns;
  return sums;
}

std::unique_ptr<KernelFamily> snapshots_family() { return std::make_unique<SnapshotsFamily>(); }

}  // namespace tracer::internal
