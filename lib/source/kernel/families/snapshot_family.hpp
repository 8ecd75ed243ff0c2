// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <bpf/libbpf.h>

#include <tracer/source.hpp>

struct snapshot_bpf;

namespace tracer {

/// The program that sees which files tracked processes have open.
class SnapshotFamily {
 public:
  /// Loads it onto the process table of the loaded lifecycle family, of `places`. Throws Error(kProgramRefused or
  /// kNoMemory).
  SnapshotFamily(const bpf_object& lifecycle, std::uint32_t places);
  ~SnapshotFamily();
  SnapshotFamily(SnapshotFamily&&) noexcept = default;
  SnapshotFamily& operator=(SnapshotFamily&&) noexcept = default;

  /// Yields a record for each file.
  void read(Receiver& receiver) const;
  const bpf_object& object() const noexcept;

 private:
  struct Closer {
    void operator()(snapshot_bpf* skeleton) const noexcept;
  };
  std::unique_ptr<snapshot_bpf, Closer> skeleton_;
};

}  // namespace tracer
