// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tracer/check.hpp>
#include <tracer/explain.hpp>
#include <tracer/families.hpp>
#include <tracer/host.hpp>
#include <tracer/statistics.hpp>

#include "guard.hpp"

namespace tracer::c {

struct LossCount {
  std::string cause;
  std::uint64_t count = 0;
};

}  // namespace tracer::c

struct tracer_list {
  std::variant<std::vector<std::string>, std::vector<tracer::Problem>, std::vector<tracer::FamilyState>,
               std::vector<tracer::CheckItem>, std::vector<tracer::c::LossCount>, std::vector<tracer::ContextTotals>,
               std::vector<tracer::ContextReason>, std::vector<tracer::HostInfo>>
      elements;
  /// Of totals, for each element: its labels in C, which refer to it.
  std::vector<std::vector<tracer_name_value>> labels = {};
};
