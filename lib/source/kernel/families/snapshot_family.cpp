// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/snapshot_family.hpp"

#include <cerrno>
#include <span>

#include "wire.h"

#include "snapshot.skel.h"
#include "source/kernel/iterator.hpp"
#include "source/kernel/libbpf_log.hpp"
#include "source/kernel/open_options.hpp"
#include "source/kernel/shared_maps.hpp"

namespace tracer {
namespace {

constexpr std::uint64_t kLeastFileBytes = 256u << 10;
constexpr const char* kSharedMaps[] = {"processes", "displaced_processes"};

}  // namespace

void SnapshotFamily::Closer::operator()(snapshot_bpf* skeleton) const noexcept { ::snapshot_bpf__destroy(skeleton); }

SnapshotFamily::SnapshotFamily(const bpf_object& lifecycle, std::uint32_t places) {
  const LibbpfLog log;
  const bpf_object_open_opts options = open_options();
  skeleton_.reset(::snapshot_bpf__open_opts(&options));
  if (!skeleton_) refuse("open the programs of the family snapshots", errno, log);
  skeleton_->rodata->slot_mask = places - 1;
  skeleton_->rodata->least_bytes = kLeastFileBytes;
  share_maps(lifecycle, *skeleton_->obj, kSharedMaps, log);
  if (const int failed = ::snapshot_bpf__load(skeleton_.get()))
    refuse("load the programs of the family snapshots", -failed, log);
  if (const int failed = ::snapshot_bpf__attach(skeleton_.get()))
    refuse("attach the programs of the family snapshots", -failed, log);
}

SnapshotFamily::~SnapshotFamily() = default;

const bpf_object& SnapshotFamily::object() const noexcept { return *skeleton_->obj; }

void SnapshotFamily::read(Receiver& receiver) const {
  for (const tracer_wire_file& file : read_iterator_as<tracer_wire_file>(skeleton_->links.open_files))
    receiver.on_record(std::as_bytes(std::span(&file, 1)));
}

}  // namespace tracer
