// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tracer/families.hpp>

#include "base/unique_fd.hpp"
#include "source/kernel/load/restart_kernel.hpp"
#include "source/kernel/load/libbpf_log.hpp"
#include "source/kernel/load/open_options.hpp"

namespace tracer::internal {

/// The BPF object of a family, by what bpftool generates of it.
template <class Generated>
class Skeleton {
 public:
  using Open = Generated* (*)(const bpf_object_open_opts*);
  using Destroy = void (*)(Generated*);

  /// `configure` gets the open object, before the kernel sees it, and the log of what libbpf says meanwhile. `keep`:
  /// null: nothing outlives this process; it must outlive this object. Throws Error(kProgramRefused or kNoMemory) and
  /// OtherKernelSide, and is then as before.
  template <class Configure>
  void load(Family family, KeptKernel* keep, Open open, Destroy destroy, const Configure& configure) {
    const LibbpfLog log;
    const bpf_object_open_opts options = open_options();
    Owner opened(open(&options), destroy);
    if (!opened) refuse(of("open", family).c_str(), errno, log);
    configure(*opened, log);
    if (keep != nullptr) keep->offer_maps(family, *opened->obj);
    if (const int failed = ::bpf_object__load_skeleton(opened->skeleton))
      refuse(of("load", family).c_str(), -failed, log);
    if (keep != nullptr) keep->take_programs(family, *opened->obj);
    object_ = std::move(opened);
    keep_ = keep;
  }
  /// Throws as above, but for OtherKernelSide.
  void attach(Family family) {
    const LibbpfLog log;
    if (keep_ != nullptr) kept_links_ = keep_->take_links(family, *object_->obj);
    if (const int failed = ::bpf_object__attach_skeleton(object_->skeleton))
      refuse(of("attach", family).c_str(), -failed, log);
    if (keep_ != nullptr) keep_->note(family, *object_->skeleton);
  }
  /// Of programs that an earlier process attached.
  void close_kept_links() noexcept { kept_links_.clear(); }
  void detach() noexcept {
    close_kept_links();
    ::bpf_object__detach_skeleton(object_->skeleton);
  }
  void unload() noexcept {
    close_kept_links();
    object_.reset();
  }

  const bpf_object& object() const noexcept { return *object_->obj; }
  Generated* operator->() const noexcept { return object_.get(); }
  Generated* get() const noexcept { return object_.get(); }

 private:
  using Owner = std::unique_ptr<Generated, Destroy>;

  static std::string of(const char* verb, Family family) {
    return std::string(verb) + " the programs of the family " + std::string(info_of(family).name);
  }

  Owner object_{nullptr, nullptr};
  KeptKernel* keep_ = nullptr;
  std::vector<UniqueFd> kept_links_;
};

}  // namespace tracer::internal
