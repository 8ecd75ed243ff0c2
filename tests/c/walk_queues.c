/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

static int readable(int fd, int timeout_ms) {
  struct pollfd wanted = {fd, POLLIN, 0};
  return poll(&wanted, 1, timeout_ms) == 1;
}

/* What waits in a queue keeps the session's descriptor readable, though nothing is left to dispatch. */
static void descriptor(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(TRACER_READER_POLL);
  tracer_queue* queue = NULL;
  REQUIRE_OK(tracer_session_queue(session, NULL, &queue, &error));
  const int fd = tracer_session_fd(session);
  CHECK(fd >= 0 && !readable(fd, 0));
  REQUIRE_OK(tracer_session_start(session, &error));
  CHECK(readable(fd, 10000) && tracer_queue_fd(queue) >= 0);
  tracer_event_buffer* buffer = tracer_event_buffer_new(1);
  uint64_t seen = 0;
  uint8_t ended = 0;
  while (!ended) {
    REQUIRE(readable(fd, 10000));
    REQUIRE(tracer_session_dispatch(session, 0, &error) >= 0);
    const int64_t count = tracer_queue_read(queue, buffer, 1, NULL);
    REQUIRE(count >= 0);
    seen += (uint64_t)count;
    REQUIRE_OK(tracer_queue_ended(queue, &ended));
  }
  CHECK(seen > 3);
  CHECK(readable(fd, 0) && readable(tracer_queue_fd(queue), 0));
  uint64_t dropped = 1;
  CHECK(tracer_queue_dropped(queue, &dropped) == TRACER_OK && dropped == 0);
  CHECK(tracer_queue_read(queue, buffer, 2, NULL) == TRACER_OUT_OF_RANGE);
  tracer_queue* late = queue;
  CHECK(tracer_session_queue(session, NULL, &late, NULL) == TRACER_ENDED && late == NULL);
  tracer_queue_free(queue);
  tracer_event_buffer_free(buffer);
  tracer_session_free(session);
}

/* A full queue drops the oldest, and says so; one that is apart does not make the descriptor readable. */
static void limited(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(TRACER_READER_POLL);
  const tracer_event_kind kinds[] = {TRACER_EVENT_PROCESS_EXIT, TRACER_EVENT_PROCESS_EXEC};
  tracer_queue_options options = TRACER_QUEUE_OPTIONS_INIT;
  options.capacity_bytes = 1;
  options.apart = 1;
  tracer_queue* queue = NULL;
  REQUIRE_OK(tracer_session_queue(session, &options, &queue, &error));
  options.capacity_bytes = 0;
  options.kinds = kinds;
  options.kind_count = 2;
  tracer_queue* chosen = NULL;
  REQUIRE_OK(tracer_session_queue(session, &options, &chosen, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  CHECK(tracer_queue_wait(queue, 10000, &error) == TRACER_OK);
  run_to_end(session);
  uint64_t dropped = 0;
  CHECK(tracer_queue_dropped(queue, &dropped) == TRACER_OK && dropped > 0);
  tracer_event_buffer* buffer = tracer_event_buffer_new(64);
  CHECK(tracer_queue_read(queue, buffer, 0, NULL) > 0);
  CHECK(tracer_event_get_kind(tracer_event_buffer_get(buffer, 0)) == TRACER_EVENT_LOSS);
  size_t of_kinds = 0;
  uint64_t lost = 0;
  CHECK(tracer_event_get_count(tracer_event_buffer_get(buffer, 0), TRACER_FIELD_LOSS_BY_KIND_KIND, &of_kinds) ==
        TRACER_OK);
  CHECK(of_kinds > 0);
  CHECK(tracer_event_get_u64_at(tracer_event_buffer_get(buffer, 0), TRACER_FIELD_LOSS_BY_KIND_COUNT, 0, &lost) ==
        TRACER_OK);
  CHECK(lost > 0 && lost <= dropped);
  CHECK(tracer_event_buffer_get(buffer, tracer_event_buffer_count(buffer)) == NULL);
  CHECK(tracer_queue_read(chosen, buffer, 64, NULL) > 1);
  for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i) {
    const tracer_event_kind kind = tracer_event_get_kind(tracer_event_buffer_get(buffer, i));
    CHECK(kind == kinds[0] || kind == kinds[1] || kind == TRACER_EVENT_SESSION_END);
  }
  tracer_session_free(session);
  tracer_queue_free(queue); /* They outlive the session. */
  tracer_queue_free(chosen);
  tracer_event_buffer_free(buffer);
  CHECK(tracer_event_buffer_new(0) == NULL);
}

/* A replay loses nothing, however small the queue of its reader is. */
static void waited_for(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(TRACER_READER_OWN_THREAD);
  tracer_queue_options options = TRACER_QUEUE_OPTIONS_INIT;
  options.capacity_bytes = 1;
  options.apart = 1;
  options.wait_when_full = 1;
  tracer_queue* queue = NULL;
  REQUIRE_OK(tracer_session_queue(session, &options, &queue, &error));
  tracer_queue* roomy = NULL;
  REQUIRE_OK(tracer_session_queue(session, NULL, &roomy, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  tracer_event_buffer* buffer = tracer_event_buffer_new(1);
  size_t events = 0;
  while (tracer_queue_wait(queue, -1, &error) == TRACER_OK) {
    const int64_t count = tracer_queue_read(queue, buffer, 1, NULL);
    if (count <= 0) break;
    CHECK(tracer_event_get_kind(tracer_event_buffer_get(buffer, 0)) != TRACER_EVENT_LOSS);
    events += (size_t)count;
  }
  uint64_t dropped = 1;
  CHECK(tracer_queue_dropped(queue, &dropped) == TRACER_OK && dropped == 0);
  size_t all = 0;
  while (tracer_queue_read(roomy, buffer, 1, NULL) > 0) ++all;
  CHECK(events == all && all > 3);
  tracer_queue_free(roomy);
  tracer_queue_free(queue);
  tracer_event_buffer_free(buffer);
  tracer_session_free(session);
}

static void* dispatch_forever(void* session) {
  int64_t* result = malloc(sizeof *result);
  REQUIRE(result != NULL);
  *result = tracer_session_dispatch(session, -1, NULL);
  return result;
}

static int64_t result_of(pthread_t thread) {
  void* result = NULL;
  REQUIRE(pthread_join(thread, &result) == 0);
  const int64_t value = *(int64_t*)result;
  free(result);
  return value;
}

/* From another thread, with either reader; and what was woken stays readable until it was dispatched. */
static void woken(tracer_reader reader) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(reader);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, dispatch_forever, session) == 0);
  usleep(20000);
  CHECK(tracer_session_wake(session) == TRACER_OK);
  CHECK(result_of(thread) == 0);
  CHECK(!readable(tracer_session_fd(session), 0));
  CHECK(tracer_session_wake(session) == TRACER_OK);
  CHECK(readable(tracer_session_fd(session), 0));
  CHECK(tracer_session_dispatch(session, -1, &error) == 0);
  CHECK(!readable(tracer_session_fd(session), 0));
  REQUIRE(pthread_create(&thread, NULL, dispatch_forever, session) == 0);
  usleep(20000);
  REQUIRE_OK(tracer_session_stop(session, &error));
  CHECK(result_of(thread) >= 0);
  CHECK(readable(tracer_session_fd(session), 0));
  tracer_session_free(session);
}

/* With its own thread: the descriptor says when a queue has something, and when all is over. */
static void own_thread(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(TRACER_READER_OWN_THREAD);
  tracer_queue* queue = NULL;
  REQUIRE_OK(tracer_session_queue(session, NULL, &queue, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  REQUIRE(readable(tracer_session_fd(session), 10000));
  run_to_end(session);
  CHECK(readable(tracer_session_fd(session), 0));
  tracer_event_buffer* buffer = tracer_event_buffer_new(1024);
  CHECK(tracer_queue_read(queue, buffer, 0, NULL) > 3);
  tracer_event_buffer_free(buffer);
  tracer_queue_free(queue);
  tracer_session_free(session);
}

/* Losses, which every queue gets, leave the descriptor readable only until they were read. */
static void losses_read(void) {
  tracer_error error = TRACER_ERROR_INIT;
  const tracer_event_kind kind = TRACER_EVENT_LOSS;
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.families = TRACER_FAMILY_LIFECYCLE;
  options.max_processes = 2;
  tracer_session* session = NULL;
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  tracer_queue_options wanted = TRACER_QUEUE_OPTIONS_INIT;
  wanted.kinds = &kind;
  wanted.kind_count = 1;
  tracer_queue* queue = NULL;
  REQUIRE_OK(tracer_session_queue(session, &wanted, &queue, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  REQUIRE(readable(tracer_queue_fd(queue), 10000));
  tracer_event_buffer* buffer = tracer_event_buffer_new(64);
  int quiet = 0;
  int64_t losses = 0;
  for (int i = 0; i < 1000 && !quiet; ++i) {
    const int64_t count = tracer_queue_read(queue, buffer, 0, NULL);
    REQUIRE(count >= 0);
    losses += count;
    quiet = losses != 0 && !readable(tracer_session_fd(session), 0);
    usleep(1000);
  }
  CHECK(quiet);
  tracer_event_buffer_free(buffer);
  tracer_queue_free(queue);
  tracer_session_free(session);
}

static int epoll_of(int fd) {
  struct epoll_event wanted = {.events = EPOLLIN};
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  REQUIRE(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted) == 0);
  return epoll;
}

/* Linux allows few epolls within each other: that of a caller may be in one more. */
static void nested(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.reader = TRACER_READER_POLL;
  options.families = TRACER_FAMILY_LIFECYCLE;
  tracer_session* session = NULL;
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  const int inner = epoll_of(tracer_session_fd(session));
  const int outer = epoll_of(inner);
  REQUIRE_OK(tracer_session_start(session, &error));
  CHECK(readable(outer, 10000));
  close(outer);
  close(inner);
  tracer_session_free(session);
}

/* A signal during the set-up may ask for the end before the start: then it comes with that. */
static void stopped_before_start(tracer_reader reader) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(reader);
  tracer_queue* queue = NULL;
  REQUIRE_OK(tracer_session_queue(session, NULL, &queue, &error));
  CHECK(tracer_session_request_stop(session) == TRACER_OK);
  REQUIRE_OK(tracer_session_start(session, &error));
  CHECK(tracer_queue_wait(queue, 10000, &error) == TRACER_OK);
  uint8_t ended = 0;
  CHECK(tracer_queue_ended(queue, &ended) == TRACER_OK && ended == 1);
  run_to_end(session);
  tracer_queue_free(queue);
  tracer_session_free(session);
}

void walk_queues(void) {
  stopped_before_start(TRACER_READER_POLL);
  stopped_before_start(TRACER_READER_OWN_THREAD);
  nested();
  losses_read();
  descriptor();
  limited();
  waited_for();
  woken(TRACER_READER_POLL);
  woken(TRACER_READER_OWN_THREAD);
  own_thread();
}
