// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "history/question.hpp"

namespace tracerd {

/// As one object, of `tracerd history --json` and of the service's `history`; docs/history.md describes it.
std::string history_json(const tracer::internal::HistoryAnswer& answer, const std::filesystem::path& file);

}  // namespace tracerd
