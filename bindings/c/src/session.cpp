// SPDX-License-Identifier: Apache-2.0
#include <sys/types.h>

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <tracer/source.hpp>

#include "session_state.hpp"
#include "sizes.hpp"

using namespace tracer;
using namespace tracer::c;

namespace {

std::unique_ptr<Session> make(const tracer_session_options& given, std::shared_ptr<const ErrorHandler> on_error) {
  SessionOptions options = session_options(given);
  options.on_error = on_error_of(std::move(on_error));
  const auto recording = optional_text(given.recording, "options->recording");
  if (recording && given.tiers != 0)
    throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, "options->tiers says nothing with a recording"};
  if (recording) return std::make_unique<Session>(recording_source(*recording), std::move(options));
  return std::make_unique<Session>(std::move(options));
}

}  // namespace

tracer_status tracer_session_new(const tracer_session_options* options, tracer_session** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    constexpr tracer_session_options kDefaults = TRACER_SESSION_OPTIONS_INIT;
    const tracer_session_options given = take(options == nullptr ? &kDefaults : options, "options");
    auto handle = std::make_unique<tracer_session>();
    const auto on_error = std::make_shared<ErrorHandler>();
    on_error->function = given.on_error;
    on_error->user_data = given.on_error_data;
    on_error->destroy = given.on_error_destroy;
    handle->state = std::make_shared<SessionState>(make(given, on_error), given.reader == TRACER_READER_POLL);
    on_error->owned = true;  // Nothing can fail any more.
    return handle.release();
  });
}

void tracer_session_free(tracer_session* session) { free_own(session); }

tracer_status tracer_session_start(tracer_session* session, tracer_error* error) {
  return guard(error, [&] {
    const auto state = need_own(session, "session").state;
    state->running().start();
  });
}

tracer_status tracer_session_stop(tracer_session* session, tracer_error* error) {
  return guard(error, [&] {
    const auto state = need_own(session, "session").state;
    state->stop();
  });
}

tracer_status tracer_session_request_stop(tracer_session* session) {
  return guard(nullptr, [&] { need_own(session, "session").state->request_stop(); });
}

tracer_status tracer_session_finished(const tracer_session* session, uint8_t* out) {
  if (out != nullptr) *out = 0;
  return guard(nullptr, [&] {
    const SessionState& state = *need_own(session, "session").state;
    need(out, "out") = state.finished() ? 1 : 0;
  });
}

tracer_status tracer_session_tier(const tracer_session* session, tracer_tier* out) {
  if (out != nullptr) *out = TRACER_TIER_RECORDING;
  return guard(nullptr, [&] {
    need(out, "out") = static_cast<tracer_tier>(need_own(session, "session").state->session().tier());
  });
}

int tracer_session_fd(const tracer_session* session) {
  return session == nullptr || session->owner.elsewhere() ? -1 : session->state->readiness()->fd();
}

int64_t tracer_session_dispatch(tracer_session* session, int64_t timeout_ms, tracer_error* error) {
  std::size_t count = 0;
  const tracer_status status = guard(error, [&] {
    const auto state = need_own(session, "session").state;  // A callback may free the session.
    count = state->dispatch(limit_of(timeout_ms));
  });
  return status == TRACER_OK ? static_cast<int64_t>(count) : status;
}

tracer_status tracer_session_wake(tracer_session* session) {
  // No exception here: signal handlers may call it.
  if (session == nullptr) return TRACER_ERROR_INVALID_ARGUMENT;
  if (session->owner.elsewhere()) return TRACER_FORKED;
  session->state->wake();
  return TRACER_OK;
}

tracer_status tracer_session_flush(tracer_session* session, int64_t timeout_ms, tracer_error* error) {
  return guard(error, [&]() -> tracer_status {
    const auto state = need_own(session, "session").state;
    state->refuse_in_callback("tracer_session_flush()");
    return state->session().flush(limit_of(timeout_ms)) ? TRACER_OK : TRACER_TIMED_OUT;
  });
}

tracer_status tracer_session_track(tracer_session* session, int32_t pid, const tracer_context* context,
                                   tracer_error* error) {
  return guard(error, [&] { need_own(session, "session").state->running().track(pid, context_of(context)); });
}

tracer_status tracer_session_announce(tracer_session* session, const tracer_announcement* announcement,
                                      tracer_error* error) {
  return guard(error, [&] {
    Session& running = need_own(session, "session").state->running();
    running.announce(announcement_of(take(announcement, "announcement")));
  });
}

tracer_status tracer_session_submit(tracer_session* session, const tracer_submission* submission, uint64_t* key,
                                    tracer_error* error) {
  return guard(error, [&] {
    Session& running = need_own(session, "session").state->running();
    const Key made = running.submit(submission_of(take(submission, "submission")));
    if (key != nullptr) *key = static_cast<std::uint64_t>(made);
  });
}

tracer_status tracer_session_withdraw(tracer_session* session, uint64_t key, tracer_string outcome,
                                      const int32_t* exit_code, tracer_error* error) {
  return guard(error, [&] {
    Session& running = need_own(session, "session").state->running();
    Withdrawal withdrawal{Key{key}, text_or_empty(outcome, "outcome")};
    if (exit_code != nullptr) withdrawal.exit_code = *exit_code;
    running.withdraw(withdrawal);
  });
}

namespace {

std::vector<std::string> texts_of(const tracer_string* given, std::size_t count, const char* name) {
  std::vector<std::string> texts;
  if (count != 0) need(given, name);
  for (std::size_t i = 0; i < count; ++i) texts.push_back(text_or_empty(given[i], name));
  return texts;
}

}  // namespace

tracer_status tracer_session_state_json(const tracer_session* session, const tracer_state_query* query,
                                        tracer_text** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    constexpr tracer_state_query kAll = TRACER_STATE_QUERY_INIT;
    const auto state = need_own(session, "session").state;
    const tracer_state_query given = take(query == nullptr ? &kAll : query, "query");
    return new tracer_text{state->session().state(
        {text_or_empty(given.since, "query->since"), texts_of(given.rows, given.row_count, "query->rows"),
         text_or_empty(given.key, "query->key"), texts_of(given.fields, given.field_count, "query->fields")})};
  });
}

struct tracer_label {
  Owner owner = {};
  ThreadLabel label;
};

tracer_status tracer_session_label_thread(tracer_session* session, const tracer_context* context, tracer_label** out,
                                          tracer_error* error) {
  return guard_make(out, error, [&] {
    Session& running = need_own(session, "session").state->running();
    auto handle = std::make_unique<tracer_label>();
    handle->label = running.label_thread(context_of(context));
    return handle.release();
  });
}

tracer_status tracer_session_unlabel_thread(tracer_session* session) {
  return guard(nullptr, [&] { need_own(session, "session").state->session().unlabel_thread(); });
}

tracer_status tracer_label_resume(tracer_label* label) {
  return guard(nullptr, [&] { need_own(label, "label").label.resume(); });
}

tracer_status tracer_label_end(tracer_label* label) {
  return guard(nullptr, [&] { need_own(label, "label").label.end(); });
}

void tracer_label_free(tracer_label* label) { free_own(label); }
