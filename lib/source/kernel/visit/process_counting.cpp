// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/visit/process_counting.hpp"

#include <bpf/bpf.h>

#include "wire.h"

#include "lifecycle.skel.h"

namespace tracer::internal {

void count_on(lifecycle_bpf& skeleton, std::uint32_t cpu) noexcept {
  LIBBPF_OPTS(bpf_test_run_opts, run);
  run.flags = BPF_F_TEST_RUN_ON_CPU;
  run.cpu = cpu;
  ::bpf_prog_test_run_opts(::bpf_program__fd(skeleton.progs.count_here), &run);
}

void count_on_all(lifecycle_bpf& skeleton) noexcept {
  for (std::uint32_t cpu = 0; cpu < skeleton.rodata->cpu_count; ++cpu) count_on(skeleton, cpu);
}

void count_what_runs(lifecycle_bpf& skeleton) noexcept {
  if (skeleton.bss->uncounted == 0) return;
  skeleton.bss->uncounted = 0;
  count_on_all(skeleton);
}

}  // namespace tracer::internal
