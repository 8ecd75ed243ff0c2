// SPDX-License-Identifier: Apache-2.0
#include "session/session_setup.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/random.hpp"
#include "context/note_questions.hpp"
#include "correlate/account.hpp"
#include "rules/rules_file.hpp"

namespace tracer::internal {
namespace {

constexpr auto kLeastInterval = std::chrono::milliseconds(100);

}  // namespace

const SessionOptions& checked(const SessionOptions& options) {
  // Also refuses what is no number.
  if (options.max_cost_share && !(*options.max_cost_share >= 0))
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "a session can't cost less than 0 of a CPU",
                 "give a SessionOptions::max_cost_share of at least 0, or none",
                 {}});
  return options;
}

HostInfo host_of(const Source& source) {
  HostInfo host = source.host();
  if (host.session_id.empty()) host.session_id = to_string(Key{random_number()});
  return host;
}

Correlator::Rules rules_of(const SessionOptions& options, std::shared_ptr<ContextTable> contexts, const HostInfo& host,
                           std::vector<Problem>& skipped, std::shared_ptr<Accounts> accounts) {
  Correlator::Rules rules;
  rules.key_origin = {host.boot_id, host.session_id};
  rules.accounts = std::move(accounts);
  rules.tools = rules_in<ToolRules>(options.tool_rules);
  rules.secrets = rules_in<SecretRules>(options.secret_rules);
  rules.engines = rules_in<EngineRules>(options.engine_rules, &skipped);
  if (options.read_engine_notes)
    rules.ask_notes = [questions = std::make_shared<NoteQuestions>(rules.accounts)](const std::string& name,
                                                                                    const NoteQuestion& question) {
      return questions->ask(name, question);
    };
  rules.mask_secrets = options.mask_secrets;
  rules.most_announcements = options.max_announcements;
  rules.command_pid = static_cast<std::uint32_t>(std::max(options.command_pid, 0));
  if (contexts) rules.find_context = [contexts](std::uint32_t id) { return contexts->at(id); };
  return rules;
}

bool wanted(const SessionOptions& options, Family family) {
  return std::find(options.families.begin(), options.families.end(), family) != options.families.end();
}

SourceRequest request_of(const SessionOptions& options, ContextTable& contexts) {
  const FilterEvaluator evaluator(options.filter, true);
  SourceRequest request;
  request.own_uid_only = ::geteuid() != 0;
  request.families = options.families;
  request.max_processes = options.max_processes;
  request.max_cost_share = options.max_cost_share;
  bool includes = false;
  for (const Filter::Rule& rule : options.filter.rules()) {
    if (decided_in_user_space(rule.subject) || (rule.include && evaluator.needs_all())) continue;
    includes = includes || rule.include;
    request.rules.push_back({rule, contexts.number_of(rule.context)});
  }
  if (wanted(options, Family::kSnapshots) && options.sample_interval < kLeastInterval)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "snapshots more often than every 100 ms are not possible",
                 "raise SessionOptions::sample_interval",
                 {}});
  request.track_all = !includes;
  return request;
}

KernelSourceOptions kernel_options(const SessionOptions& options, ContextTable& contexts) {
  KernelSourceOptions kernel{request_of(options, contexts)};
  kernel.ring_bytes = options.ring_bytes;
  kernel.max_threads = options.max_threads;
  kernel.max_cgroups = options.max_cgroups;
  kernel.max_contexts = options.max_contexts;
  kernel.max_labeled_threads = options.max_labeled_threads;
  kernel.time_programs = options.max_cost_share.has_value();
  return kernel;
}

ContextTotals totals_of(const RawTotals& raw, Context context) {
  ContextTotals totals;
  totals.context = std::move(context);
  totals.contexts = raw.contexts;
  totals.living = raw.living;
  totals.ended = raw.ended;
  totals.failed = raw.failed;
  totals.account = totals_account(raw);
  return totals;
}

}  // namespace tracer::internal
