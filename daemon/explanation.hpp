// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <tracer/explain.hpp>

namespace tracerd {

/// A line for each field of a context, with what has said it.
std::string explanation_of(const std::vector<tracer::ContextReason>& reasons);

}  // namespace tracerd
