// SPDX-License-Identifier: Apache-2.0
#include "report/waste_cost.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "report/hourly_price.hpp"
#include "report/waste.hpp"

namespace tracer::internal {
namespace {

constexpr Wide kBillion = 1'000'000'000;
constexpr std::uint64_t kCent = 10'000;  ///< In micro USD.
constexpr int kOldDays = 90;

/// Halves go to the even neighbor.
Wide divided(Wide value, Wide by) {
  const Wide whole = value / by;
  const Wide twice = (value % by) * 2;
  return whole + (twice > by || (twice == by && whole % 2 == 1) ? 1 : 0);
}

/// In billionths of an hour. Absent: more than anybody pays for.
std::optional<Wide> unused_billionths(const Waste::Part& part) {
  const Wide whole = part.unused_units / part.units_in_hour;
  if (whole > kBillion) return std::nullopt;
  return whole * kBillion + divided((part.unused_units % part.units_in_hour) * kBillion, part.units_in_hour);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// "1,234.50", "0.000123"
std::string shown_amount(const WasteCost& cost) {
  if (cost.micro_usd >= 10 * kCent) {
    const auto cents = static_cast<std::uint64_t>(divided(cost.micro_usd, kCent));
    return fmt::format("{}.{:02}", grouped(cents / 100), cents % 100);
  }
  std::string amount = cost.amount();
  amount.erase(amount.find_last_not_of('0') + 1);
  if (amount.ends_with('.')) amount.pop_back();
  return amount;
}

std::string price_name(const HourlyPrice& price) {
  if (price.instance_type.empty()) return "given price";
  return fmt::format("list price of {}{}{} {}", price.instance_type, price.region.empty() ? "" : " in ", price.region,
                     price.model == "spot" ? "as spot" : "on demand");
}

}  // namespace

std::string WasteCost::amount() const {
  constexpr std::uint64_t kMicro = 1'000'000;
  return fmt::format("{}.{:06}", micro_usd / kMicro, micro_usd % kMicro);
}

std::string WasteCost::text() const {
  std::string text =
      fmt::format("{} {} USD, an estimate by the {}, {} USD an hour, of {}", at_least ? "at least" : "about",
                  shown_amount(*this), price_name(price), price.usd_per_hour, price.date);
  if (price.basis != "given" && price.basis != "listed") text += fmt::format(" ({})", price.basis);
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const auto days = (today - *parse_date(price.date)).count();
  return days > kOldDays ? text + fmt::format(", {} days old", days) : text;
}

std::optional<WasteCost> waste_cost_of(const Report& report) {
  if (!report.price) return std::nullopt;
  const HourlyPrice& price = *report.price;
  const auto& types = report.instance_types;
  if (!price.instance_type.empty() &&
      std::any_of(types.begin(), types.end(), [&](const std::string& type) { return type != price.instance_type; }))
    return std::nullopt;
  const Waste waste = waste_of(report);
  if (waste.cpu_hours.requested_units == 0 && waste.memory_gib_hours.requested_units == 0) return std::nullopt;
  const auto cpu_price = parse_amount(price.usd_per_cpu_hour);
  const auto gib_price = parse_amount(price.usd_per_gib_hour);
  const auto cpu_hours = unused_billionths(waste.cpu_hours);
  const auto gib_hours = unused_billionths(waste.memory_gib_hours);
  if (!cpu_price || !gib_price || !cpu_hours || !gib_hours || !parse_date(price.date)) return std::nullopt;
  // Of 10^-12ths of USD and 10^-9ths of hours.
  const Wide micro_usd = divided(*cpu_hours * *cpu_price + *gib_hours * *gib_price, kBillion * 1'000'000);
  if (micro_usd > std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  return WasteCost{static_cast<std::uint64_t>(micro_usd), waste.cpu_hours.tasks != waste.memory_gib_hours.tasks, price};
}

}  // namespace tracer::internal
