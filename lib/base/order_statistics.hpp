// SPDX-License-Identifier: Apache-2.0
/// Medians and quantiles of a few values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tracer::internal {

/// `values` must not be empty; `share` is from 0 to 1. Between two values, it interpolates.
inline double quantile_of(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

/// `values` must not be empty.
inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// The median absolute deviation from `median`, scaled to the standard deviation of a normal distribution.
inline double spread_of(std::vector<double> values, double median) {
  constexpr double kOfNormal = 1.4826;
  for (double& value : values) value = std::abs(value - median);
  return kOfNormal * median_of(std::move(values));
}

}  // namespace tracer::internal
