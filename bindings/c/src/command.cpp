// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <memory>
#include <optional>

#include <tracer/run.hpp>

#include "event_handle.hpp"
#include "list_handle.hpp"
#include "session_state.hpp"
#include "sizes.hpp"

using namespace tracer;
using namespace tracer::c;

struct tracer_command {
  explicit tracer_command(CommandOptions options) : command(std::move(options)) {}

  Owner owner = {};
  Command command;
  bool released = false;
  bool refused = false;  ///< It could not be executed.
  std::optional<CommandEnd> end = {};
};

struct tracer_command_trace {
  CommandTrace trace;
};

tracer_status tracer_command_new(const tracer_command_options* options, tracer_command** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    const tracer_command_options given = take(options, "options");
    CommandOptions own;
    if (given.argc != 0) need(given.argv, "options->argv");
    for (std::size_t i = 0; i < given.argc; ++i)
      own.argv.push_back(text_or_empty(given.argv[i], "a word of options->argv"));
    if (given.environment_count != 0) need(given.environment, "options->environment");
    if (given.environment != nullptr) {
      own.environment.emplace();
      for (std::size_t i = 0; i < given.environment_count; ++i)
        own.environment->push_back(text_or_empty(given.environment[i], "options->environment"));
    }
    if (const auto user = optional_text(given.user, "options->user")) own.user = find_user(*user);
    check_reserved(given.reserved, "options");
    own.at_once = flag(given.at_once, "options->at_once");
    if (own.at_once && own.user)
      throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, "a command with a user can't be started at once",
                    "leave one of options->at_once and options->user out"};
    if (given.prepare != nullptr) own.prepare = [prepare = given.prepare, data = given.prepare_data] { prepare(data); };
    return new tracer_command(std::move(own));
  });
}

void tracer_command_free(tracer_command* command) { free_own(command); }

int32_t tracer_command_pid(const tracer_command* command) { return command == nullptr ? 0 : command->command.pid(); }

tracer_status tracer_command_release(tracer_command* command, tracer_error* error) {
  return guard(error, [&] {
    tracer_command& own = need_own(command, "command");
    if (own.released) throw Refusal{TRACER_ENDED, "the command was released before"};
    own.released = true;
    own.refused = true;
    own.command.release();
    own.refused = false;
  });
}

tracer_status tracer_command_ended(tracer_command* command, int* wait_status) {
  if (wait_status != nullptr) *wait_status = 0;
  return guard(nullptr, [&]() -> tracer_status {
    tracer_command& own = need_own(command, "command");
    int& out = need(wait_status, "wait_status");
    if (own.refused) return TRACER_ENDED;
    if (!own.end) own.end = own.command.ended();
    if (!own.end) {
      // One that was started at once, and could not be, was waited for already.
      return !own.released && own.command.signal(0) == ESRCH ? TRACER_ENDED : TRACER_ABSENT;
    }
    if (!own.end->wait_status) return TRACER_REAPED;
    out = *own.end->wait_status;
    return TRACER_OK;
  });
}

tracer_status tracer_command_signal(const tracer_command* command, int number) {
  return guard(nullptr, [&]() -> tracer_status {
    switch (need_own(command, "command").command.signal(number)) {
      case 0: return TRACER_OK;
      case ESRCH: return TRACER_ENDED;
      case EPERM: return TRACER_ERROR_PERMISSION;
      default: return TRACER_ERROR_INVALID_ARGUMENT;
    }
  });
}

tracer_command_trace* tracer_command_trace_new(int32_t pid) {
  tracer_command_trace* trace = nullptr;
  static_cast<void>(guard_make(&trace, nullptr, [&] { return new tracer_command_trace{CommandTrace(pid)}; }));
  return trace;
}

void tracer_command_trace_free(tracer_command_trace* trace) { delete trace; }

uint8_t tracer_command_trace_saw(tracer_command_trace* trace, const tracer_event* event) {
  bool saw = false;
  static_cast<void>(guard(nullptr, [&] { saw = need(trace, "trace").trace.saw(event_of(need(event, "event"))); }));
  return saw ? 1 : 0;
}

uint8_t tracer_command_trace_ended(const tracer_command_trace* trace) {
  return trace != nullptr && trace->trace.ended() ? 1 : 0;
}

tracer_status tracer_command_trace_argv(const tracer_command_trace* trace, tracer_list** out, tracer_error* error) {
  return guard_make(out, error, [&] { return new tracer_list{need(trace, "trace").trace.argv()}; });
}

tracer_status tracer_session_dispatch_until_ended(tracer_session* session, const tracer_command_trace* trace,
                                                  int64_t timeout_ms, tracer_error* error) {
  return guard(error, [&]() -> tracer_status {
    const auto state = need_own(session, "session").state;
    state->refuse_in_callback("tracer_session_dispatch_until_ended()");
    const CommandTrace& followed = need(trace, "trace").trace;
    const auto limit = timeout_ms < 0 ? std::chrono::hours(24 * 365) : limit_of(timeout_ms);
    if (poll_until_ended(state->session(), followed, limit)) return TRACER_OK;
    return state->finished() ? TRACER_ENDED : TRACER_TIMED_OUT;
  });
}
