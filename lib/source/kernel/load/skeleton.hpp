// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "source/kernel/load/libbpf_log.hpp"
#include "source/kernel/load/open_options.hpp"

namespace tracer::internal {

/// The BPF object of a family, by what bpftool generates of it.
template <class Generated>
class Skeleton {
 public:
  using Open = Generated* (*)(const bpf_object_open_opts*);
  using Destroy = void (*)(Generated*);

  /// `configure` gets the open object, before the kernel sees it, and the log of what libbpf says meanwhile. Throws
  /// Error(kProgramRefused or kNoMemory), and is then as before.
  template <class Configure>
  void load(std::string_view family, Open open, Destroy destroy, const Configure& configure) {
    const LibbpfLog log;
    const bpf_object_open_opts options = open_options();
    Owner opened(open(&options), destroy);
    if (!opened) refuse(of("open", family).c_str(), errno, log);
    configure(*opened, log);
    if (const int failed = ::bpf_object__load_skeleton(opened->skeleton))
      refuse(of("load", family).c_str(), -failed, log);
    object_ = std::move(opened);
  }
  /// Throws as above.
  void attach(std::string_view family) {
    const LibbpfLog log;
    if (const int failed = ::bpf_object__attach_skeleton(object_->skeleton))
      refuse(of("attach", family).c_str(), -failed, log);
  }
  void detach() noexcept { ::bpf_object__detach_skeleton(object_->skeleton); }
  void unload() noexcept { object_.reset(); }

  const bpf_object& object() const noexcept { return *object_->obj; }
  Generated* operator->() const noexcept { return object_.get(); }

 private:
  using Owner = std::unique_ptr<Generated, Destroy>;

  static std::string of(const char* verb, std::string_view family) {
    return std::string(verb) + " the programs of the family " + std::string(family);
  }

  Owner object_{nullptr, nullptr};
};

}  // namespace tracer::internal
