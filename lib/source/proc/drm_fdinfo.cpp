// SPDX-License-Identifier: Apache-2.0
#include "source/proc/drm_fdinfo.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <system_error>

#include "base/text.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostNames = 64;
constexpr std::size_t kMostNameBytes = 64;
constexpr std::uint64_t kMostMemoryBytes = 1ULL << 50;
constexpr std::uint64_t kMostEngines = 1024;

/// How much of a region of memory belongs to the client: the more exact figure counts.
struct Region {
  std::optional<std::uint64_t> resident_bytes;
  std::optional<std::uint64_t> total_bytes;  ///< With what is swapped out.
};
using Regions = std::map<std::string, Region, std::less<>>;

/// "4 KiB", "17 ns", "5".
struct Quantity {
  std::uint64_t number = 0;
  std::string_view unit;
};

std::optional<Quantity> quantity(std::string_view text) {
  Quantity value;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value.number);
  if (error != std::errc()) return std::nullopt;
  value.unit = trim({rest, static_cast<std::size_t>(end - rest)});
  return value;
}

std::optional<std::uint64_t> number(std::string_view text, std::string_view unit) {
  const auto value = quantity(text);
  if (!value || value->unit != unit) return std::nullopt;
  return value->number;
}

std::optional<std::uint64_t> bytes(std::string_view text) {
  const auto value = quantity(text);
  if (!value) return std::nullopt;
  const unsigned shift = value->unit == "KiB" ? 10 : value->unit == "MiB" ? 20 : 0;
  if (shift == 0 && !value->unit.empty()) return std::nullopt;
  if (value->number > kMostMemoryBytes >> shift) return std::nullopt;
  return value->number << shift;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMostNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

/// Cuts `prefix` off.
bool begins(std::string_view& key, std::string_view prefix) {
  if (!key.starts_with(prefix)) return false;
  key.remove_prefix(prefix.size());
  return true;
}

bool is_of_device(std::string_view region) { return region.starts_with("vram") || region.starts_with("local"); }

std::optional<std::uint64_t> memory_of(const Regions& regions) {
  const bool own =
      std::any_of(regions.begin(), regions.end(), [](const auto& each) { return is_of_device(each.first); });
  std::optional<std::uint64_t> sum;
  for (const auto& [name, region] : regions) {
    const auto& held = region.resident_bytes ? region.resident_bytes : region.total_bytes;
    if (held && (!own || is_of_device(name))) sum = sum.value_or(0) + *held;
  }
  return sum;
}

class FdinfoReader {
 public:
  explicit FdinfoReader(DrmClient& client) : client_(client) {}

  /// False: it makes no sense.
  bool take(std::string_view key, std::string_view value) {
    if (!begins(key, "drm-")) return true;
    if (key == "driver") return take_name(value, client_.driver);
    if (key == "pdev") return take_name(value, client_.pci_device.emplace());
    if (key == "client-id") return take_number(number(value, ""), id_);
    if (begins(key, "engine-capacity-")) return take_capacity(key, value);
    if (begins(key, "engine-")) return take_engine(key, number(value, "ns"), &DrmEngine::busy_ns);
    if (begins(key, "cycles-")) return take_engine(key, number(value, ""), &DrmEngine::cycles);
    if (begins(key, "total-cycles-")) return take_engine(key, number(value, ""), &DrmEngine::total_cycles);
    // Amdgpu's older word for what is resident.
    if (begins(key, "resident-") || begins(key, "memory-")) return take_region(key, value, &Region::resident_bytes);
    if (begins(key, "total-")) return take_region(key, value, &Region::total_bytes);
    return true;
  }

  DrmText end() {
    if (client_.driver.empty() || !id_) return DrmText::kNone;
    client_.id = *id_;
    client_.memory_bytes = memory_of(regions_);
    return client_.memory_bytes || !client_.engines.empty() ? DrmText::kClient : DrmText::kNone;
  }

 private:
  static bool take_name(std::string_view value, std::string& name) {
    name = value;
    return is_name(value);
  }

  static bool take_number(std::optional<std::uint64_t> value, std::optional<std::uint64_t>& to) {
    to = value;
    return value.has_value();
  }

  /// Null: there are too many.
  template <class Map>
  static auto* place_in(Map& map, std::string_view name) {
    const auto at = map.find(name);
    if (at != map.end()) return &at->second;
    return is_name(name) && map.size() < kMostNames ? &map[std::string(name)] : nullptr;
  }

  bool take_engine(std::string_view name, std::optional<std::uint64_t> value,
                   std::optional<std::uint64_t> DrmEngine::*member) {
    DrmEngine* const engine = place_in(client_.engines, name);
    return engine != nullptr && take_number(value, engine->*member);
  }

  bool take_capacity(std::string_view name, std::string_view value) {
    DrmEngine* const engine = place_in(client_.engines, name);
    const auto count = number(value, "");
    if (engine == nullptr || !count || *count == 0 || *count > kMostEngines) return false;
    engine->capacity = *count;
    return true;
  }

  bool take_region(std::string_view name, std::string_view value, std::optional<std::uint64_t> Region::*member) {
    Region* const region = place_in(regions_, name);
    return region != nullptr && take_number(bytes(value), region->*member);
  }

  DrmClient& client_;
  std::optional<std::uint64_t> id_;
  Regions regions_;
};

}  // namespace

DrmText parse_drm_fdinfo(std::string_view text, DrmClient& client) {
  FdinfoReader reader(client);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (!reader.take(line.substr(0, colon), trim(line.substr(colon + 1)))) return DrmText::kRefused;
  }
  return reader.end();
}

}  // namespace tracer::internal
