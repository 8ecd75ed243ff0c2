// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <tracer/report.hpp>
#include <tracer/run.hpp>

namespace tracerd {

/// The price that a user has chosen with `tracer prices use`.
struct ChosenPrice {
  std::optional<tracer::HourlyPrice> price = {};
  std::string problem = {};  ///< Why there is none, though something was chosen.
};

/// Of `user`, absent: of the caller; read with their rights. It does not throw: no report fails for it.
ChosenPrice chosen_price(const std::optional<tracer::User>& user);

/// From now on the report has it. Returns what to say: a problem, if the report would have a cost by it.
std::string set_price(tracer::Report& report, const ChosenPrice& chosen);

}  // namespace tracerd
