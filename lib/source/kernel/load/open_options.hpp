// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

namespace tracer::internal {

/// How each object is opened: it is fitted to the kernel's own types only. libbpf would look for a type that the kernel
/// does not have in all its modules, too, which wants CAP_SYS_ADMIN.
inline bpf_object_open_opts open_options() {
  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.btf_custom_path = "/sys/kernel/btf/vmlinux";
  return options;
}

}  // namespace tracer::internal
