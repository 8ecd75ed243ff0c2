// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <limits>
#include <memory>

#include "families.hpp"
#include "session_state.hpp"
#include "sizes.hpp"

namespace tracer::c {
namespace {

struct CallbackFailed {
  std::uint64_t session;
  std::int32_t result;
};

[[noreturn]] void refuse(std::string what) { throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, std::move(what)}; }

void set_size(std::size_t& option, std::uint64_t given) {
  if (given != 0) option = static_cast<std::size_t>(given);
}

pid_t pid_of(std::uint64_t number) {
  if (number > static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max())) refuse("no process has such a pid");
  return static_cast<pid_t>(number);
}

uid_t uid_of(std::uint64_t number) {
  if (number > std::numeric_limits<uid_t>::max()) refuse("no user has such a uid");
  return static_cast<uid_t>(number);
}

/// What nobody would read is no default, but a mistake.
void refuse_unless(bool unused, const char* what, const char* where) {
  if (!unused) refuse(std::string(what) + " says nothing in " + where);
}

void check_unused(const tracer_filter_rule& rule) {
  const bool by_number = rule.subject == TRACER_FILTER_TREE || rule.subject == TRACER_FILTER_UID;
  const bool labels = rule.exclude == 0 && (rule.subject == TRACER_FILTER_TREE || rule.subject == TRACER_FILTER_CGROUP);
  refuse_unless(by_number || rule.number == 0, "a number", "a rule of this subject");
  refuse_unless(!by_number || rule.text.data == nullptr, "a text", "a rule of this subject");
  refuse_unless(labels || rule.context == nullptr, "a context", "a rule but those that include trees and cgroups");
}

void add_rule(Filter& filter, const tracer_filter_rule& rule) {
  const bool include = !flag(rule.exclude, "rule.exclude");
  check_unused(rule);
  Context context = context_of(rule.context);
  std::string text = text_or_empty(rule.text, "rule.text");
  switch (rule.subject) {
    case TRACER_FILTER_TREE:
      include ? filter.include_tree(pid_of(rule.number), std::move(context)) : filter.exclude_tree(pid_of(rule.number));
      return;
    case TRACER_FILTER_CGROUP:
      include ? filter.include_cgroup(std::move(text), std::move(context)) : filter.exclude_cgroup(std::move(text));
      return;
    case TRACER_FILTER_UID:
      include ? filter.include_uid(uid_of(rule.number)) : filter.exclude_uid(uid_of(rule.number));
      return;
    case TRACER_FILTER_EXE: include ? filter.include_exe(std::move(text)) : filter.exclude_exe(std::move(text)); return;
    case TRACER_FILTER_TOOL:
      include ? filter.include_tool(std::move(text)) : filter.exclude_tool(std::move(text));
      return;
    case TRACER_FILTER_ARGUMENT:
      include ? filter.include_argument(std::move(text)) : filter.exclude_argument(std::move(text));
      return;
    default: refuse("rule.subject is none of TRACER_FILTER_...");
  }
}

Filter filter_of(const tracer_session_options& given) {
  Filter filter;
  if (given.rule_count == 0) return filter;
  need(given.rules, "options->rules");
  check_size(*given.rules, "options->rules");
  const auto* bytes = reinterpret_cast<const unsigned char*>(given.rules);
  const std::size_t stride = given.rules->size;
  for (std::size_t i = 0; i < given.rule_count; ++i) {
    const auto* rule = reinterpret_cast<const tracer_filter_rule*>(bytes + i * stride);
    if (rule->size != stride) throw Refusal{TRACER_WRONG_SIZE, "the rules are not all of the same size"};
    add_rule(filter, take(rule, "rule"));
  }
  return filter;
}

std::vector<Family> families_of(tracer_families given) {
  std::vector<Family> families;
  for (const FamilyInfo& info : kFamilies) {
    const tracer_families bit = bit_of(info.family);
    if ((given & bit) != 0 && info.use != FamilyUse::kAlways) families.push_back(info.family);
    given &= ~bit;
  }
  if (given != 0) refuse("options->families has a bit that is none of TRACER_FAMILY_...");
  return families;
}

std::vector<Tier> tiers_of(std::uint32_t given, std::vector<Tier> otherwise) {
  std::vector<Tier> tiers;
  for (const Tier tier : {Tier::kKernel, Tier::kService, Tier::kProc}) {
    const std::uint32_t bit = 1u << static_cast<unsigned>(tier);
    if ((given & bit) != 0) tiers.push_back(tier);
    given &= ~bit;
  }
  if (given != 0) refuse("options->tiers has a bit that is none of a live TRACER_TIER_...");
  return tiers.empty() ? otherwise : tiers;
}

Context with_labels(Context context, const tracer_context& given) {
  if (given.label_count != 0) need(given.labels, "context->labels");
  for (std::size_t i = 0; i < given.label_count; ++i)
    context.labels.push_back({text_or_empty(given.labels[i].name, "the name of a label"),
                              text_or_empty(given.labels[i].value, "the value of a label")});
  return context;
}

std::optional<std::uint64_t> unless_0(std::uint64_t number) {
  return number == 0 ? std::nullopt : std::optional(number);
}

void check_unused(const tracer_announcement& given) {
  const bool below = given.key == TRACER_KEY_BELOW_PROCESS;
  const bool of_process = below || given.key == TRACER_KEY_OF_PROCESS;
  constexpr const char* kWhere = "an announcement with this key";
  refuse_unless(of_process || (given.pid == 0 && given.start_ns == 0), "a process", kWhere);
  refuse_unless(!of_process || given.text.data == nullptr, "a text", kWhere);
  refuse_unless(below || given.argc == 0, "a pattern of arguments", kWhere);
}

AnnouncementKey key_of(const tracer_announcement& given) {
  check_unused(given);
  const OfProcess process{given.pid, unless_0(given.start_ns)};
  std::string text = text_or_empty(given.text, "announcement->text");
  switch (given.key) {
    case TRACER_KEY_IN_WORK_DIR: return InWorkDir{std::move(text)};
    case TRACER_KEY_OF_PROCESS: return process;
    case TRACER_KEY_IN_CGROUP: return InCgroup{std::move(text)};
    case TRACER_KEY_IN_CONTAINER: return InContainer{std::move(text)};
    case TRACER_KEY_IN_SLURM_JOB: return InSlurmJob{std::move(text)};
    case TRACER_KEY_BELOW_PROCESS: {
      BelowProcess below{process, {}};
      if (given.argc != 0) need(given.argv, "announcement->argv");
      for (std::size_t i = 0; i < given.argc; ++i)
        below.argv.push_back(text_or_empty(given.argv[i], "a word of announcement->argv"));
      return below;
    }
    default: refuse("announcement->key is none of TRACER_KEY_...");
  }
}

}  // namespace

[[noreturn]] void throw_callback_failed(std::uint64_t session, std::int32_t result) {
  throw CallbackFailed{session, result};
}

std::function<void(std::exception_ptr)> on_error_of(std::shared_ptr<const ErrorHandler> handler) {
  return [handler = std::move(handler)](std::exception_ptr thrown) {
    if (handler->function == nullptr) return;
    CallbackFailed failed{0, -1};
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const CallbackFailed& caught) {
      failed = caught;
    } catch (...) {
    }
    const InCallback inside(failed.session);
    handler->function(handler->user_data, failed.result);
  };
}

SessionOptions session_options(const tracer_session_options& given) {
  SessionOptions options;
  if (given.reader > TRACER_READER_POLL) refuse("options->reader is none of TRACER_READER_...");
  options.reader = given.reader == TRACER_READER_POLL ? ReaderMode::kPoll : ReaderMode::kOwnThread;
  if (given.families != 0) options.families = families_of(given.families);
  options.filter = filter_of(given);
  set_size(options.ring_bytes, given.ring_bytes);
  set_size(options.max_processes, given.max_processes);
  set_size(options.max_threads, given.max_threads);
  set_size(options.max_cgroups, given.max_cgroups);
  set_size(options.max_contexts, given.max_contexts);
  set_size(options.max_labeled_threads, given.max_labeled_threads);
  set_size(options.max_announcements, given.max_announcements);
  if (given.sample_interval_ms != 0) options.sample_interval = std::chrono::milliseconds(given.sample_interval_ms);
  if (given.max_cost_share != 0) options.max_cost_share = given.max_cost_share;
  options.mask_secrets = !flag(given.keep_secrets, "options->keep_secrets");
  options.read_engine_notes = !flag(given.skip_engine_notes, "options->skip_engine_notes");
  options.findings = !flag(given.skip_findings, "options->skip_findings");
  options.hash_paths = flag(given.hash_paths, "options->hash_paths");
  options.history = text_or_empty(given.history, "options->history");
  if (given.command_pid < 0 || given.command_pid > INT32_MAX) refuse("options->command_pid is not a process");
  options.command_pid = static_cast<pid_t>(given.command_pid);
  options.tiers = tiers_of(given.tiers, options.tiers);
  check_reserved(given.reserved, "options");
  if (auto socket = optional_text(given.service_socket, "options->service_socket")) options.service_socket = *socket;
  options.tool_rules = text_or_empty(given.tool_rules, "options->tool_rules");
  options.secret_rules = text_or_empty(given.secret_rules, "options->secret_rules");
  options.engine_rules = text_or_empty(given.engine_rules, "options->engine_rules");
  return options;
}

Context context_of(const tracer_context* pointer) {
  if (pointer == nullptr) return {};
  const tracer_context given = take(pointer, "context");
  check_reserved(given.reserved, "context");
  Context context;
  context.pipeline = optional_text(given.pipeline, "context->pipeline");
  context.run = optional_text(given.run, "context->run");
  context.step = optional_text(given.step, "context->step");
  context.sample = optional_text(given.sample, "context->sample");
  context.task = optional_text(given.task, "context->task");
  context.task_id = optional_text(given.task_id, "context->task_id");
  context.run_id = optional_text(given.run_id, "context->run_id");
  context.engine = optional_text(given.engine, "context->engine");
  if (given.attempt != 0) context.attempt = given.attempt;
  return with_labels(std::move(context), given);
}

namespace {

/// `where`: the name of what has them.
template <class Given>
Requested requested_of(const Given& given, const std::string& where) {
  Requested requested;
  requested.millicpus = unless_0(given.requested_millicpus);
  requested.memory_bytes = unless_0(given.requested_memory_bytes);
  requested.time_ns = unless_0(given.requested_time_ns);
  requested.container = optional_text(given.requested_container, (where + "->requested_container").c_str());
  requested.tag = optional_text(given.requested_tag, (where + "->requested_tag").c_str());
  return requested;
}

}  // namespace

Announcement announcement_of(const tracer_announcement& given) {
  Announcement announcement{key_of(given)};
  announcement.context = context_of(given.context);
  announcement.requested = requested_of(given, "announcement");
  if (given.expires_after_ms != 0) announcement.expires_after = std::chrono::milliseconds(given.expires_after_ms);
  return announcement;
}

Submission submission_of(const tracer_submission& given) {
  Submission submission{context_of(given.context)};
  submission.requested = requested_of(given, "submission");
  if (given.expected_count != 0) need(given.expected, "submission->expected");
  for (std::size_t i = 0; i < given.expected_count; ++i)
    submission.expected.push_back(
        {text_or_empty(given.expected[i].step, "a step of submission->expected"), given.expected[i].tasks});
  if (given.expires_after_ms != 0) submission.expires_after = std::chrono::milliseconds(given.expires_after_ms);
  return submission;
}

QueueOptions queue_options(const tracer_queue_options& given) {
  QueueOptions options;
  static_cast<void>(flag(given.apart, "options->apart"));
  if (given.kind_count != 0) need(given.kinds, "options->kinds");
  for (std::size_t i = 0; i < given.kind_count; ++i) {
    const auto kind = static_cast<EventKind>(given.kinds[i]);
    if (to_string(kind).empty()) refuse("options->kinds has a kind that is none of TRACER_EVENT_...");
    options.kinds.push_back(kind);
  }
  set_size(options.capacity_bytes, given.capacity_bytes);
  options.living_first = flag(given.living_first, "options->living_first");
  check_reserved(given.reserved, "options");
  if (flag(given.wait_when_full, "options->wait_when_full")) options.when_full = WhenFull::kWait;
  return options;
}

}  // namespace tracer::c
