// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tracer::internal {

/// What helps where the kernel refuses programs to a process that has the capabilities, by what can be seen of the
/// process and the kernel. Null: nothing shows why.
const char* fix_of_refusal(int error_number);

/// What helps then, where `tracerd check` has not looked yet.
inline constexpr const char* kFixByCheck = "run `tracerd check`; report the detail if it finds nothing missing";

}  // namespace tracer::internal
