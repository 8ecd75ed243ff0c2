// SPDX-License-Identifier: Apache-2.0
#include "session/session_setup.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "correlate/account.hpp"

namespace tracer::internal {
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

KernelSourceOptions kernel_options(const SessionOptions& options, ContextTable& contexts) {
  const FilterEvaluator evaluator(options.filter, true);
  KernelSourceOptions kernel;
  kernel.ring_bytes = options.ring_bytes;
  kernel.max_processes = options.max_processes;
  kernel.max_contexts = options.max_contexts;
  kernel.families = options.families;
  kernel.time_programs = options.max_cost_share.has_value();
  kernel.own_uid_only = ::geteuid() != 0;
  bool includes = false;
  for (const Filter::Rule& rule : options.filter.rules()) {
    if (decided_in_user_space(rule.subject) || (rule.include && evaluator.needs_all())) continue;
    includes = includes || rule.include;
    kernel.rules.push_back({rule, contexts.number_of(rule.context)});
  }
  if (wanted(options, Family::kSnapshots) && options.sample_interval < kLeastInterval)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "snapshots more often than every 100 ms are not possible",
                 "raise SessionOptions::sample_interval",
                 {}});
  kernel.track_all = !includes;
  return kernel;
}

ContextTotals totals_of(const RawTotals& raw, Context context) {
  ContextTotals totals;
  totals.context = std::move(context);
  totals.living = raw.living;
  totals.ended = raw.ended;
  totals.failed = raw.failed;
  totals.account = totals_account(raw);
  return totals;
}

}  // namespace tracer::internal
