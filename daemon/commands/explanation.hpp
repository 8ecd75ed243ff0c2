// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <tracer/explain.hpp>

namespace tracerd {

/// "pid 12  bwa mem", and whether it does the engine's own work.
std::string subject_of(const tracer::Process& process);
/// A line for each field of a context, with what has said it.
std::string explanation_of(const std::vector<tracer::ContextReason>& reasons, bool with_conditions);

}  // namespace tracerd
