// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <tracer/session.hpp>

#include "session/context_table.hpp"
#include "source/source.hpp"

namespace tracer::internal {

/// The first of options.tiers that works; why the earlier ones do not is added to `problems`. Throws Error: of the only
/// one as it is, else one with the problems of all.
std::unique_ptr<Source> open_source(const SessionOptions& options, ContextTable& contexts,
                                    std::vector<Problem>& problems);

}  // namespace tracer::internal
