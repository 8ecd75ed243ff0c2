// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <bpf/libbpf.h>

#include "source/kernel/kernel_support.hpp"

struct waits_bpf;

namespace tracer {

/// The programs that see what threads wait for, and the maps that they share with the lifecycle family.
class WaitsFamily {
 public:
  /// Loads it with room for `places` threads, a power of two. Throws Error(kProgramRefused or kNoMemory).
  WaitsFamily(const KernelTypes& types, std::uint32_t places);
  ~WaitsFamily();
  WaitsFamily(WaitsFamily&&) noexcept = default;
  WaitsFamily& operator=(WaitsFamily&&) noexcept = default;

  /// Gives the other object, before it is loaded, the maps. Throws as above.
  void share_with(bpf_object& object) const;
  /// Before the lifecycle family is: at a thread's end its programs must be first. Throws as above.
  void attach();
  void detach() noexcept;
  const bpf_object& object() const noexcept;

 private:
  struct Closer {
    void operator()(waits_bpf* skeleton) const noexcept;
  };
  std::unique_ptr<waits_bpf, Closer> skeleton_;
};

}  // namespace tracer
