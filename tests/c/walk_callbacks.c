/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

struct payload {
  tracer_session* session;
  tracer_subscription* subscription;
  int calls;
  int destroyed;
  int errors;
  int32_t result;
};

static void destroy(void* data) { ++((struct payload*)data)->destroyed; }

static int32_t fail(void* data, const tracer_event* event) {
  struct payload* payload = data;
  ++payload->calls;
  CHECK(tracer_event_get_kind(event) == TRACER_EVENT_PROCESS_EXIT);
  CHECK(payload->destroyed == 0);
  return 42;
}

static void on_error(void* data, int32_t result) {
  struct payload* payload = data;
  ++payload->errors;
  payload->result = result;
}

/* What fails is counted and told; and `destroy` comes once, with the free. */
static void failing(tracer_reader reader) {
  tracer_error error = TRACER_ERROR_INIT;
  struct payload payload = {0};
  struct payload watcher = {0};
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.reader = reader;
  options.recording = tracer_string_of(recorded_file());
  options.on_error = on_error;
  options.on_error_data = &watcher;
  options.on_error_destroy = destroy;
  tracer_session* session = NULL;
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  tracer_subscription* subscription = NULL;
  REQUIRE_OK(
      tracer_session_subscribe(session, TRACER_EVENT_PROCESS_EXIT, fail, &payload, destroy, &subscription, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  run_to_end(session);
  CHECK(payload.calls == 1 && payload.destroyed == 0);
  CHECK(watcher.errors == 1 && watcher.result == 42 && watcher.destroyed == 0);
  tracer_statistics statistics = TRACER_STATISTICS_INIT;
  REQUIRE_OK(tracer_session_statistics(session, &statistics, &error));
  CHECK(statistics.callback_errors == 1 && statistics.events > 3);
  tracer_subscription* late = subscription;
  CHECK(tracer_session_subscribe(session, 0, fail, &payload, destroy, &late, &error) == TRACER_ENDED && late == NULL);
  CHECK(payload.destroyed == 0);
  tracer_error_release(&error);
  tracer_session_free(session);
  CHECK(watcher.destroyed == 1 && payload.destroyed == 0);
  tracer_subscription_free(subscription);
  CHECK(payload.destroyed == 1);
}

/* What would wait for itself says so; and a callback may free itself. */
static int32_t free_itself(void* data, const tracer_event* event) {
  struct payload* payload = data;
  (void)event;
  if (++payload->calls != 1) return 0;
  tracer_error error = TRACER_ERROR_INIT;
  CHECK(tracer_session_stop(payload->session, &error) == TRACER_ERROR_IN_CALLBACK);
  CHECK(tracer_session_dispatch(payload->session, -1, &error) == TRACER_ERROR_IN_CALLBACK);
  CHECK(tracer_session_flush(payload->session, -1, &error) == TRACER_ERROR_IN_CALLBACK);
  tracer_error_release(&error);
  tracer_subscription_free(payload->subscription);
  CHECK(payload->destroyed == 0);
  return 0;
}

static void freed_inside(tracer_reader reader) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(reader);
  struct payload payload = {0};
  payload.session = session;
  REQUIRE_OK(tracer_session_subscribe(session, TRACER_EVENT_NONE, free_itself, &payload, destroy, &payload.subscription,
                                      &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  run_to_end(session);
  CHECK(payload.calls == 1 && payload.destroyed == 1);
  tracer_session_free(session);
}

static int32_t stop_soon(void* data, const tracer_event* event) {
  struct payload* payload = data;
  (void)event;
  ++payload->calls;
  return tracer_session_request_stop(payload->session);
}

/* Inside a callback its end can be asked for; and even the session can be freed. */
static int32_t free_session(void* data, const tracer_event* event) {
  struct payload* payload = data;
  (void)event;
  if (++payload->calls == 1) tracer_session_free(payload->session);
  return 0;
}

static void ended_inside(void) {
  tracer_error error = TRACER_ERROR_INIT;
  struct payload payload = {0};
  payload.session = replay(TRACER_READER_POLL);
  REQUIRE_OK(tracer_session_subscribe(payload.session, TRACER_EVENT_PROCESS_EXIT, stop_soon, &payload, NULL,
                                      &payload.subscription, &error));
  REQUIRE_OK(tracer_session_start(payload.session, &error));
  run_to_end(payload.session);
  CHECK(payload.calls == 1);
  tracer_subscription_free(payload.subscription);
  tracer_session_free(payload.session);

  memset(&payload, 0, sizeof payload);
  payload.session = replay(TRACER_READER_POLL);
  REQUIRE_OK(tracer_session_subscribe(payload.session, TRACER_EVENT_PROCESS_EXEC, free_session, &payload, destroy,
                                      &payload.subscription, &error));
  REQUIRE_OK(tracer_session_start(payload.session, &error));
  while (payload.calls == 0) REQUIRE(tracer_session_dispatch(payload.session, 1000, &error) >= 0);
  CHECK(payload.destroyed == 0);
  tracer_subscription_free(payload.subscription);
  CHECK(payload.destroyed == 1);
}

void walk_callbacks(void) {
  failing(TRACER_READER_POLL);
  failing(TRACER_READER_OWN_THREAD);
  freed_inside(TRACER_READER_POLL);
  freed_inside(TRACER_READER_OWN_THREAD);
  ended_inside();
}
