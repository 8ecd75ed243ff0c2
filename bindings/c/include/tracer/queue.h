/* SPDX-License-Identifier: Apache-2.0 */
/* Events for a consumer that reads at its own pace: buffers and queues. */
#ifndef TRACER_QUEUE_H
#define TRACER_QUEUE_H

#include <tracer/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A reusable buffer for events: reading into it releases its old events. Used by one thread at a time. */
typedef struct tracer_event_buffer tracer_event_buffer;
/* @since 0.1. For at most `capacity` events: 1 to 1048576. NULL: no memory, or no such capacity. */
TRACER_API tracer_event_buffer* tracer_event_buffer_new(size_t capacity);
/* @since 0.1 */
TRACER_API void tracer_event_buffer_free(tracer_event_buffer* buffer);
/* @since 0.1. The number of events in it; 0 for NULL. */
TRACER_API size_t tracer_event_buffer_count(const tracer_event_buffer* buffer);
/* @since 0.1. Borrowed: valid until the next read into the buffer, or until it is freed. NULL: out of range. */
TRACER_API const tracer_event* tracer_event_buffer_get(const tracer_event_buffer* buffer, size_t index);

/* Zero is the default. */
typedef struct tracer_queue_options {
  size_t size;
  const tracer_event_kind* kinds; /* Only these kinds; none: all. Losses and the session's end always come. */
  size_t kind_count;
  uint64_t capacity_bytes; /* The most that waits at one time. When full, it drops the oldest. 0: 64 MiB. */
  uint32_t apart;          /* 1: tracer_session_fd() ignores it, because another thread reads it. */
  /* 1: with TRACER_READER_OWN_THREAD, the session waits for the reader instead, until it is stopped: a replay loses
   * nothing. Not for live sessions, because the kernel's ring fills meanwhile. */
  uint32_t wait_when_full;
  uint32_t living_first; /* 1: first come the starts of everything that is followed and lives now. */
  uint32_t reserved;     /* 0. */
} tracer_queue_options;

#define TRACER_QUEUE_OPTIONS_INIT \
  { sizeof(tracer_queue_options), NULL, 0, 0, 0, 0, 0, 0 }

/* A bounded queue of a session's events. One TRACER_EVENT_LOSS with the cause "queue_full" takes the place of dropped
 * events. May outlive the session, which ends it. Thread-safe, but threads that read at the same time share the events
 * among them. */
typedef struct tracer_queue tracer_queue;

/* @since 0.1. Gets the events from now on. NULL options: defaults. TRACER_ERROR_NO_MEMORY; TRACER_ENDED. */
TRACER_API tracer_status tracer_session_queue(tracer_session* session, const tracer_queue_options* options,
                                              tracer_queue** out, tracer_error* error);
/* @since 0.1. In a forked child, it only discards the handle. */
TRACER_API void tracer_queue_free(tracer_queue* queue);
/* @since 0.1. Takes the oldest events, at most `max` (0: as many as the buffer has room for), and does not wait.
 * Returns their number, or a negative status: TRACER_OUT_OF_RANGE (`max` is more than there is room for). */
TRACER_API int64_t tracer_queue_read(tracer_queue* queue, tracer_event_buffer* buffer, size_t max, tracer_error* error);
/* @since 0.1. Waits for something to read, or the end; negative: without a limit. With TRACER_READER_POLL, it drives
 * the session meanwhile. TRACER_TIMED_OUT; TRACER_ERROR_IN_CALLBACK. */
TRACER_API tracer_status tracer_queue_wait(tracer_queue* queue, int64_t timeout_ms, tracer_error* error);
/* @since 0.1. Readable while there is something to read, and from the end on. Owned by the queue: don't read or close
 * it. -1 only for NULL and in a forked child. */
TRACER_API int tracer_queue_fd(const tracer_queue* queue);
/* @since 0.1. 1: nothing is left to read, and nothing will come. */
TRACER_API tracer_status tracer_queue_ended(const tracer_queue* queue, uint8_t* out);
/* @since 0.1. The number of events that were dropped because it was full. */
TRACER_API tracer_status tracer_queue_dropped(const tracer_queue* queue, uint64_t* out);

/* @since 0.1. The followed processes that live now, as events of the kind TRACER_EVENT_PROCESS_SAMPLE; the buffer grows
 * if needed. None for recordings. Waits for its turn: 20 ms, or a snapshot. */
TRACER_API tracer_status tracer_session_living(tracer_session* session, tracer_event_buffer* buffer,
                                               tracer_error* error);

#ifdef __cplusplus
}
#endif

#endif
