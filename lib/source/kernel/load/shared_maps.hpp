// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

struct bpf_object;

namespace tracer::internal {

class LibbpfLog;

/// Gives `to`, which is not loaded yet, these maps of `from`, which is. Throws Error(kProgramRefused or kNoMemory).
void share_maps(const bpf_object& from, bpf_object& to, std::span<const char* const> names, const LibbpfLog& log);

}  // namespace tracer::internal
