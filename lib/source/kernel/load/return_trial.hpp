// SPDX-License-Identifier: Apache-2.0
#pragma once

struct bpf_program;

namespace tracer::internal {

/// Whether a process under a seccomp filter lives on when it returns from a function at whose return this loaded
/// program is attached. Since 6.11 the kernel makes a system call there for the process, which first no filter knew.
/// Found out by a child of this process. False, too: it can't be tried.
bool survives_probed_return(const bpf_program& program);

}  // namespace tracer::internal
