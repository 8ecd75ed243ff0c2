// SPDX-License-Identifier: Apache-2.0
#include "report/hourly_price.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tracer/error.hpp>

#include "base/bounded_json.hpp"
#include "base/number.hpp"
#include "base/read_at.hpp"
#include "base/unique_fd.hpp"

namespace tracer {
namespace {

constexpr std::size_t kMostFileBytes = 4096;

[[noreturn]] void refuse_file(const std::string& name, int error_number, const std::string& why) {
  throw Error({ErrorCode::kFileUnreadable,
               error_number,
               fmt::format("{} {}", name, why),
               "choose the price again: tracer prices use TYPE",
               {}});
}

}  // namespace

HourlyPrice read_price(const std::filesystem::path& file) {
  const std::string name = file.string();
  const internal::UniqueFd opened(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!opened) refuse_file(name, errno, fmt::format("can't be read: {}", std::strerror(errno)));
  struct stat about = {};
  if (::fstat(opened.get(), &about) != 0 || !S_ISREG(about.st_mode)) refuse_file(name, 0, "is no regular file");
  std::string text(kMostFileBytes + 1, '\0');
  text.resize(internal::read_at(opened.get(), std::as_writable_bytes(std::span(text)), 0));
  if (text.size() > kMostFileBytes) refuse_file(name, 0, "is no price: it is too large");
  return internal::price_of_json(text, name);
}

namespace internal {
namespace {

constexpr std::size_t kMostTextBytes = 100;
constexpr std::size_t kMostValuesOfPrice = 64;
constexpr std::size_t kMostWholeDigits = 6;
constexpr std::size_t kPlaces = 12;

/// Others may have written the list that it is from: it stands in texts, and in the data of pages.
std::string harmless(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char sign) {
        const bool letter = (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z');
        return !letter && !(sign >= '0' && sign <= '9') && std::strchr("_ .,()-", sign) == nullptr;
      },
      '?');
  return text;
}

bool are_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<std::uint64_t> parse_amount(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view part = text.substr(std::min(point + 1, text.size()));
  if (!are_digits(whole) || whole.size() > kMostWholeDigits || part.size() > kPlaces) return std::nullopt;
  if (point != text.size() && !are_digits(part)) return std::nullopt;
  return parse_number<std::uint64_t>(fmt::format("{}{:0<{}}", whole, part, kPlaces));
}

std::optional<std::chrono::sys_days> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = parse_number<unsigned>(text.substr(0, 4));
  const auto month = parse_number<unsigned>(text.substr(5, 2));
  const auto day = parse_number<unsigned>(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                                         std::chrono::day(*day));
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

HourlyPrice price_of_json(std::string_view text, const std::string& name) {
  // Flat: what is deeper is no price.
  const nlohmann::json json = bounded_json(text, {.most_depth = 1, .most_values = kMostValuesOfPrice}).json;
  if (!json.is_object()) refuse_file(name, 0, "is cut or damaged");
  if (json.value("schema", nlohmann::json()) != 1) refuse_file(name, 0, "is no price, or of another version");
  const auto text_of = [&](const char* key) {
    const auto found = json.find(key);
    if (found == json.end()) return std::string();
    if (!found->is_string()) refuse_file(name, 0, fmt::format("is damaged: {} is no text", key));
    std::string value = found->get<std::string>();
    if (value.size() > kMostTextBytes) refuse_file(name, 0, fmt::format("is damaged: {} is too long", key));
    return harmless(std::move(value));
  };
  HourlyPrice price{.usd_per_hour = text_of("usd_per_hour"),
                    .usd_per_cpu_hour = text_of("usd_per_cpu_hour"),
                    .usd_per_gib_hour = text_of("usd_per_gib_hour"),
                    .instance_type = text_of("instance_type"),
                    .region = text_of("region"),
                    .model = text_of("model"),
                    .basis = text_of("basis"),
                    .date = text_of("date")};
  if (text_of("currency") != "USD") refuse_file(name, 0, "has a price in another currency than USD");
  for (const auto* amount : {&price.usd_per_hour, &price.usd_per_cpu_hour, &price.usd_per_gib_hour})
    if (!parse_amount(*amount)) refuse_file(name, 0, fmt::format("is damaged: \"{}\" is no price", *amount));
  if (!parse_date(price.date)) refuse_file(name, 0, fmt::format("is damaged: \"{}\" is no date", price.date));
  if (price.basis.empty() || price.instance_type.empty() != price.model.empty() ||
      (!price.model.empty() && price.model != "on-demand" && price.model != "spot"))
    refuse_file(name, 0, "is damaged: it does not say which price it is");
  return price;
}

}  // namespace internal
}  // namespace tracer
