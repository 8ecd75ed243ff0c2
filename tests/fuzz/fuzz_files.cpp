// SPDX-License-Identifier: Apache-2.0
/// Reads files that users may have written for others to read: those of container runtimes, and Snakefiles. JSON is
/// read as the library reads it, as far as it is within the bounds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/bounded_json.hpp"
#include "rules/engines/snakefile.hpp"
#include "source/proc/container_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tracer::internal;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const BoundedJson bounded = bounded_json(text, {.most_depth = 8, .most_values = 256});
  if (bounded.fault == JsonFault::kNone && bounded.json != nlohmann::json::parse(text, nullptr, false)) std::abort();
  if (bounded.fault == JsonFault::kMalformed && nlohmann::json::accept(text)) std::abort();
  static_cast<void>(container_facts(text, {"/x", {"names", "0"}, {"metadata", "image-name"}}, "x"));
  static_cast<void>(container_facts(text, {"/x", {"Name"}, {"Config", "Image"}}, "x"));
  // The last line is a command.
  const std::size_t end = std::min(text.rfind('\n'), text.size());
  const std::vector<Snakefile> files = {Snakefile::parse(text.substr(0, end))};
  static_cast<void>(rule_that_runs(files, text.substr(end)));
  return 0;
}
