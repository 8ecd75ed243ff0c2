// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/visit/process_counting.hpp"

#include <bpf/bpf.h>

#include <cstdint>

#include "wire.h"

#include "lifecycle.skel.h"

namespace tracer::internal {

void count_what_runs(lifecycle_bpf& skeleton) noexcept {
  if (skeleton.bss->uncounted == 0) return;
  skeleton.bss->uncounted = 0;
  const int program = ::bpf_program__fd(skeleton.progs.count_here);
  LIBBPF_OPTS(bpf_test_run_opts, run);
  run.flags = BPF_F_TEST_RUN_ON_CPU;
  // One that is offline runs nothing.
  for (run.cpu = 0; run.cpu < skeleton.rodata->cpu_count; ++run.cpu) ::bpf_prog_test_run_opts(program, &run);
}

}  // namespace tracer::internal
