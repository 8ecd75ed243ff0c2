// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tracer::internal {

/// Throws why a command did not begin: kCommandNotFound or kCommandNotExecutable. `error_number`: of its exec.
[[noreturn]] void refuse_start(const std::string& name, int error_number);

}  // namespace tracer::internal
