// SPDX-License-Identifier: Apache-2.0
#include "session/session_setup.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "correlate/account.hpp"
#include "wire.h"

namespace tracer {
namespace {

constexpr auto kLeastInterval = std::chrono::milliseconds(100);

}  // namespace

Correlator::Rules rules_of(const SessionOptions& options) {
  return {options.tool_rules.empty() ? internal::ToolRules::builtin() : internal::ToolRules::load(options.tool_rules),
          options.secret_rules.empty() ? internal::SecretRules::builtin()
                                       : internal::SecretRules::load(options.secret_rules),
          options.mask_secrets};
}

bool wanted(const SessionOptions& options, Family family) {
  return std::find(options.families.begin(), options.families.end(), family) != options.families.end();
}

KernelSourceOptions kernel_options(const SessionOptions& options, std::vector<Context>& contexts) {
  const FilterEvaluator evaluator(options.filter, true);
  KernelSourceOptions kernel;
  kernel.ring_bytes = options.ring_bytes;
  kernel.max_processes = options.max_processes;
  kernel.max_contexts = options.max_contexts;
  kernel.waits = wanted(options, Family::kWaits);
  kernel.snapshots = wanted(options, Family::kSnapshots);
  kernel.time_programs = options.max_cost_share.has_value();
  kernel.own_uid_only = ::geteuid() != 0;
  bool includes = false;
  for (const Filter::Rule& rule : options.filter.rules()) {
    if (decided_in_user_space(rule.subject) || (rule.include && evaluator.needs_all())) continue;
    includes = includes || rule.include;
    std::uint32_t id = 0;
    if (rule.context != Context{}) {
      const auto at = std::find(contexts.begin(), contexts.end(), rule.context);
      id = static_cast<std::uint32_t>(at - contexts.begin());
      if (at == contexts.end()) contexts.push_back(rule.context);
    }
    kernel.rules.push_back({rule, id});
  }
  if (contexts.size() > options.max_contexts)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "the filter has more different labels than max_contexts",
                 "raise SessionOptions::max_contexts",
                 {}});
  if (wanted(options, Family::kSnapshots) && options.sample_interval < kLeastInterval)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "snapshots more often than every 100 ms are not possible",
                 "raise SessionOptions::sample_interval",
                 {}});
  kernel.track_all = !includes;
  return kernel;
}

ContextTotals totals_of(const RawTotals& raw, const std::vector<Context>& contexts) {
  tracer_context_totals wire{};
  if (!raw.bytes.empty()) std::memcpy(&wire, raw.bytes.data(), std::min(raw.bytes.size(), sizeof wire));
  ContextTotals totals;
  if (raw.context_id < contexts.size()) totals.context = contexts[raw.context_id];
  totals.living = raw.living;
  totals.ended = wire.ended;
  totals.failed = wire.failed;
  totals.account = totals_account(wire);
  return totals;
}

}  // namespace tracer
