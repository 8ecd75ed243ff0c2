// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <span>

#include "event_handle.hpp"
#include "session_state.hpp"
#include "sizes.hpp"

using namespace tracer;
using namespace tracer::c;

struct tracer_queue {
  tracer_queue(const std::shared_ptr<SessionState>& state, QueueOptions options, bool apart)
      : queue(state->session().queue(std::move(options))) {
    if (apart) return;
    state->readiness()->watch(queue.fd());
    watched_by = state->readiness();
  }
  ~tracer_queue() {
    if (watched_by) watched_by->unwatch(queue.fd());
  }
  tracer_queue(const tracer_queue&) = delete;
  tracer_queue& operator=(const tracer_queue&) = delete;

  Owner owner = {};
  Queue queue;
  std::shared_ptr<Readiness> watched_by;  ///< Null: it is apart.
};

std::span<Event> tracer_event_buffer::room(std::size_t max) {
  if (max > events.size()) throw Refusal{TRACER_OUT_OF_RANGE, "max is more than the buffer has room for"};
  std::fill_n(events.begin(), count, Event());
  count = 0;
  return std::span(events).first(max == 0 ? events.size() : max);
}

tracer_event_buffer* tracer_event_buffer_new(size_t capacity) {
  constexpr size_t kMost = 1u << 20;
  if (capacity == 0 || capacity > kMost) return nullptr;
  tracer_event_buffer* buffer = nullptr;
  static_cast<void>(guard_make(&buffer, nullptr, [&] {
    return new tracer_event_buffer{std::vector<Event>(capacity), 0};
  }));
  return buffer;
}

void tracer_event_buffer_free(tracer_event_buffer* buffer) { delete buffer; }

size_t tracer_event_buffer_count(const tracer_event_buffer* buffer) { return buffer == nullptr ? 0 : buffer->count; }

const tracer_event* tracer_event_buffer_get(const tracer_event_buffer* buffer, size_t index) {
  return buffer == nullptr || index >= buffer->count ? nullptr : handle_of(buffer->events[index]);
}

tracer_status tracer_session_queue(tracer_session* session, const tracer_queue_options* options, tracer_queue** out,
                                   tracer_error* error) {
  return guard_make(out, error, [&] {
    constexpr tracer_queue_options kDefaults = TRACER_QUEUE_OPTIONS_INIT;
    const tracer_queue_options given = take(options == nullptr ? &kDefaults : options, "options");
    const auto state = need_own(session, "session").state;
    static_cast<void>(state->running());
    return new tracer_queue(state, queue_options(given), given.apart != 0);
  });
}

void tracer_queue_free(tracer_queue* queue) { free_own(queue); }

int64_t tracer_queue_read(tracer_queue* queue, tracer_event_buffer* buffer, size_t max, tracer_error* error) {
  const tracer_status status = guard(error, [&] {
    tracer_queue& from = need_own(queue, "queue");
    const std::span<Event> room = need(buffer, "buffer").room(max);
    // Whoever reads queues need not dispatch, where the session has a thread.
    if (from.watched_by) from.watched_by->pass_losses();
    buffer->count = from.queue.read(room);
  });
  return status == TRACER_OK ? static_cast<int64_t>(buffer->count) : status;
}

tracer_status tracer_queue_wait(tracer_queue* queue, int64_t timeout_ms, tracer_error* error) {
  return guard(error, [&]() -> tracer_status {
    return need_own(queue, "queue").queue.wait(limit_of(timeout_ms)) ? TRACER_OK : TRACER_TIMED_OUT;
  });
}

int tracer_queue_fd(const tracer_queue* queue) {
  return queue == nullptr || queue->owner.elsewhere() ? -1 : queue->queue.fd();
}

tracer_status tracer_queue_ended(const tracer_queue* queue, uint8_t* out) {
  if (out != nullptr) *out = 0;
  return guard(nullptr, [&] {
    const Queue& from = need_own(queue, "queue").queue;
    need(out, "out") = from.ended() ? 1 : 0;
  });
}

tracer_status tracer_queue_dropped(const tracer_queue* queue, uint64_t* out) {
  if (out != nullptr) *out = 0;
  return guard(nullptr, [&] {
    const Queue& from = need_own(queue, "queue").queue;
    need(out, "out") = from.dropped();
  });
}

tracer_status tracer_session_living(tracer_session* session, tracer_event_buffer* buffer, tracer_error* error) {
  return guard(error, [&] {
    const auto state = need_own(session, "session").state;
    static_cast<void>(need(buffer, "buffer").room(0));
    std::vector<ProcessSample> samples = state->session().living();
    if (samples.size() > buffer->events.size()) buffer->events.resize(samples.size());
    for (ProcessSample& sample : samples) buffer->events[buffer->count++] = Event(std::move(sample));
  });
}
