// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tracer/report.hpp>

namespace tracer::internal {

/// What a price file holds, as docs/cost.md#waste describes it; `name` is its name. Throws Error(kFileUnreadable).
HourlyPrice price_of_json(std::string_view text, const std::string& name);

/// A decimal number as amounts of prices are, in 10^-12ths. Absent: it is none, or too large.
std::optional<std::uint64_t> parse_amount(std::string_view text);

/// "2026-11-01". Absent: it is no day.
std::optional<std::chrono::sys_days> parse_date(std::string_view text);

}  // namespace tracer::internal
