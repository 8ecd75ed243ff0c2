// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tracer::internal {

/// Another where bpf/wire.h is another: the form of what BPF programs and user space share. Made by CMakeLists.txt.
std::string_view print_of_wire() noexcept;

}  // namespace tracer::internal
