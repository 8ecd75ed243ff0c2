// SPDX-License-Identifier: Apache-2.0
#include "base/evidence_text.hpp"

#include <fmt/format.h>

#include "base/quantities.hpp"

namespace tracer::internal {

std::string format_evidence(const Evidence& evidence) {
  if (evidence.text) return *evidence.text;
  const std::uint64_t value = evidence.value.value_or(0);
  if (evidence.unit == "ns") return format_duration(value);
  if (evidence.unit == "bytes") return format_bytes(value);
  if (evidence.unit == "bytes/s") return format_bytes(value) + "/s";
  if (evidence.unit == "percent") return fmt::format("{} %", value);
  return std::to_string(value);
}

}  // namespace tracer::internal
