// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tracer/ledger.hpp>

namespace tracerd {

/// A letter for each tenth of the wall time, the largest cause first: "CCCCCCCPPQ". Empty when nothing is known.
std::string time_bar(const tracer::Ledger& ledger);

/// What the letters of these bars mean, one line; empty for none.
std::string time_bar_legend(const std::string& letters);

}  // namespace tracerd
