// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer/check.hpp>

#include "source/kernel/load/kernel_types.hpp"

namespace tracer::internal {

CheckItem tracepoint_item(const KernelTypes& types, const char* name, bool required, const char* effect,
                          const char* since);

/// Required: a member of a kernel's structure that not every configuration has.
CheckItem member_item(const KernelTypes& types, const char* structure, const char* member, const char* effect,
                      const char* option);

/// Required: something of BPF, `what` in "this kernel has no ...".
CheckItem facility_item(const char* name, bool available, const char* effect, const char* what, const char* since);

/// Of something that it can do without.
CheckItem feature_item(const char* name, bool available, const char* effect, const char* since);

}  // namespace tracer::internal
