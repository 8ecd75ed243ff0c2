// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "source/source.hpp"
#include "source/source_request.hpp"

namespace tracer::internal {

class KeptKernel;

struct KernelSourceOptions : SourceRequest {
  std::size_t ring_bytes = 1u << 20;  ///< Of all rings together.
  std::uint32_t rings = 0;            ///< 0: as many as befit the machine's CPUs.
  std::size_t max_threads = 32768;
  std::size_t max_cgroups = 16384;
  std::size_t max_contexts = 16384;
  std::size_t max_labeled_threads = 4096;
  bool time_programs = false;  ///< The kernel counts the run time of all BPF programs for as long as the source lives.
  /// Null: the kernel side ends with the source. Else records stay in the rings until KernelSide::release() was called.
  std::shared_ptr<KeptKernel> keep = {};
  std::vector<std::uint64_t> released = {};  ///< By an earlier process, as KernelSide::given(); with `keep`.
  std::uint64_t told_until_ns = 0;           ///< It knew of processes that began before this; 0: of none.
  std::uint64_t gaps = 0;                    ///< Events that it, or its end, has lost.
  std::string session_id = {};               ///< Of the session that it goes on with; empty: it makes one.
  std::uint32_t last_context = 0;            ///< That processes may have by what that process said.
};

/// The BPF programs, loaded; attached by start(). Throws Error with all that is missing.
std::unique_ptr<Source> kernel_source(const KernelSourceOptions& options);

}  // namespace tracer::internal
