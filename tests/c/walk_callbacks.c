/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <pthread.h>
#include <unistd.h>

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

/* on_error is a callback, too; and what it was refused has changed nothing. */
static void refused_in_on_error(void* data, int32_t result) {
  struct payload* payload = data;
  (void)result;
  if (++payload->errors != 1) return;
  CHECK(tracer_session_stop(payload->session, NULL) == TRACER_ERROR_IN_CALLBACK);
  CHECK(tracer_session_dispatch(payload->session, 100, NULL) == TRACER_ERROR_IN_CALLBACK);
  CHECK(tracer_session_flush(payload->session, 100, NULL) == TRACER_ERROR_IN_CALLBACK);
  tracer_queue* queue = NULL;
  CHECK(tracer_session_queue(payload->session, NULL, &queue, NULL) == TRACER_OK);
  tracer_queue_free(queue);
}

static void on_error_refused(tracer_reader reader) {
  tracer_error error = TRACER_ERROR_INIT;
  struct payload payload = {0};
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.reader = reader;
  options.recording = tracer_string_of(recorded_file());
  options.on_error = refused_in_on_error;
  options.on_error_data = &payload;
  REQUIRE_OK(tracer_session_new(&options, &payload.session, &error));
  REQUIRE_OK(tracer_session_subscribe(payload.session, TRACER_EVENT_PROCESS_EXIT, fail, &payload, NULL,
                                      &payload.subscription, &error));
  REQUIRE_OK(tracer_session_start(payload.session, &error));
  run_to_end(payload.session);
  CHECK(payload.errors == 1);
  tracer_subscription_free(payload.subscription);
  tracer_session_free(payload.session);
}

/* A callback of one session inside that of another: neither can wait for itself. */
struct nested {
  tracer_session* outer;
  tracer_session* inner;
  int calls;
};

static int32_t stop_outer(void* data, const tracer_event* event) {
  struct nested* nested = data;
  (void)event;
  if (++nested->calls != 1) return 0;
  CHECK(tracer_session_stop(nested->outer, NULL) == TRACER_ERROR_IN_CALLBACK);
  CHECK(tracer_session_dispatch(nested->outer, 100, NULL) == TRACER_ERROR_IN_CALLBACK);
  CHECK(tracer_session_stop(nested->inner, NULL) == TRACER_ERROR_IN_CALLBACK);
  tracer_queue* queue = NULL;
  CHECK(tracer_session_queue(nested->outer, NULL, &queue, NULL) == TRACER_OK);
  tracer_queue_free(queue);
  return 0;
}

static int32_t run_inner(void* data, const tracer_event* event) {
  (void)event;
  run_to_end(((struct nested*)data)->inner);
  return 0;
}

static void nested_sessions(void) {
  tracer_error error = TRACER_ERROR_INIT;
  struct nested nested = {replay(TRACER_READER_POLL), replay(TRACER_READER_POLL), 0};
  tracer_subscription* of_outer = NULL;
  tracer_subscription* of_inner = NULL;
  REQUIRE_OK(
      tracer_session_subscribe(nested.outer, TRACER_EVENT_PROCESS_EXIT, run_inner, &nested, NULL, &of_outer, &error));
  REQUIRE_OK(tracer_session_subscribe(nested.inner, TRACER_EVENT_NONE, stop_outer, &nested, NULL, &of_inner, &error));
  REQUIRE_OK(tracer_session_start(nested.inner, &error));
  REQUIRE_OK(tracer_session_start(nested.outer, &error));
  run_to_end(nested.outer);
  CHECK(nested.calls > 1);
  tracer_subscription_free(of_outer);
  tracer_subscription_free(of_inner);
  tracer_session_free(nested.outer);
  tracer_session_free(nested.inner);
}

/* on_error_destroy is the session's once there is one, and never before; also without an on_error. */
static void destroyed_with_session(void) {
  struct payload payload = {0};
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.on_error = on_error;
  options.on_error_data = &payload;
  options.on_error_destroy = destroy;
  tracer_session* session = NULL;
  options.reader = 7;
  CHECK(tracer_session_new(&options, &session, NULL) == TRACER_ERROR_INVALID_ARGUMENT);
  options.reader = TRACER_READER_POLL;
  options.recording = tracer_string_of("/no/such/file");
  CHECK(tracer_session_new(&options, &session, NULL) == TRACER_ERROR_FILE_UNREADABLE);
  CHECK(payload.destroyed == 0);
  options.recording = tracer_string_of(recorded_file());
  options.on_error = NULL;
  CHECK(tracer_session_new(&options, &session, NULL) == TRACER_OK && payload.destroyed == 0);
  tracer_session_free(session);
  CHECK(payload.destroyed == 1);
}

/* When a session was freed, none of its callbacks runs any more: whoever frees its queues meanwhile. */
struct slow {
  int freed;
  int late;
};

static int32_t be_slow(void* data, const tracer_event* event) {
  struct slow* slow = data;
  (void)event;
  if (__atomic_load_n(&slow->freed, __ATOMIC_SEQ_CST)) __atomic_store_n(&slow->late, 1, __ATOMIC_SEQ_CST);
  usleep(500);
  return 0;
}

enum { QUEUES = 100 };

struct freed_beside {
  tracer_queue* queues[QUEUES];
  int count;
};

static void* free_queues(void* data) {
  struct freed_beside* all = data;
  for (int i = 0; i < QUEUES; ++i) {
    tracer_queue_free(all->queues[i]);
    __atomic_store_n(&all->count, i + 1, __ATOMIC_SEQ_CST);
  }
  return NULL;
}

static void queues_freed_beside(void) {
  tracer_error error = TRACER_ERROR_INIT;
  int late = 0;
  for (int i = 0; i < 20; ++i) {
    struct slow slow = {0, 0};
    tracer_session* session = replay(TRACER_READER_OWN_THREAD);
    tracer_subscription* subscription = NULL;
    REQUIRE_OK(tracer_session_subscribe(session, TRACER_EVENT_NONE, be_slow, &slow, NULL, &subscription, &error));
    struct freed_beside all = {.count = 0};
    for (int j = 0; j < QUEUES; ++j) REQUIRE_OK(tracer_session_queue(session, NULL, &all.queues[j], &error));
    REQUIRE_OK(tracer_session_start(session, &error));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, free_queues, &all) == 0);
    while (__atomic_load_n(&all.count, __ATOMIC_SEQ_CST) < 2 + i) continue;
    tracer_session_free(session);
    __atomic_store_n(&slow.freed, 1, __ATOMIC_SEQ_CST);
    usleep(3000);
    REQUIRE(pthread_join(thread, NULL) == 0);
    tracer_subscription_free(subscription);
    late += slow.late;
  }
  CHECK(late == 0);
}

void walk_callbacks(void) {
  on_error_refused(TRACER_READER_POLL);
  on_error_refused(TRACER_READER_OWN_THREAD);
  nested_sessions();
  destroyed_with_session();
  queues_freed_beside();
  failing(TRACER_READER_POLL);
  failing(TRACER_READER_OWN_THREAD);
  freed_inside(TRACER_READER_POLL);
  freed_inside(TRACER_READER_OWN_THREAD);
  ended_inside();
}
