// SPDX-License-Identifier: Apache-2.0
/// Reads rules for engines that nobody meant: what stands before the first NUL is the file, the words behind it are
/// what a process executes. What is read is compared with that process.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/error.hpp>

#include "context/engine_trial.hpp"
#include "rules/engines/engine_examples.hpp"
#include "rules/engines/engine_rules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tracer::internal::EngineRules;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(0, end);
  tracer::Program program;
  program.argv.emplace();
  for (std::string_view rest = input.substr(end); !rest.empty();) {
    rest.remove_prefix(1);
    const std::size_t next = std::min(rest.find('\0'), rest.size());
    program.argv->emplace_back(rest.substr(0, next));
    rest.remove_prefix(next);
  }
  if (!program.argv->empty()) program.exe = program.cwd = program.argv->front();
  try {
    std::vector<tracer::Problem> skipped;
    const EngineRules rules = EngineRules::parse(text, "fuzz", &skipped);
    static_cast<void>(rules.candidates(program));
    if (program.exe) static_cast<void>(rules.match_cgroup(*program.exe));
    static_cast<void>(
        tracer::internal::try_examples(rules, tracer::internal::read_engine_examples(text, "fuzz"), "fuzz"));
  } catch (const tracer::Error&) {
    // All that is wrong in it.
  }
  return 0;
}
