/* SPDX-License-Identifier: Apache-2.0 */
/* Built against the headers of 0.1, and run with today's library: never change a line of it. */
#include <stdio.h>
#include <string.h>

#include <tracer.h>

static int calls = 0;

static int32_t count(void* data, const tracer_event* event) {
  (void)data;
  calls += tracer_event_get_kind(event) != TRACER_EVENT_NONE;
  return 0;
}

static int record(const char* from, const char* to, tracer_error* error) {
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.reader = TRACER_READER_POLL;
  options.recording = tracer_string_of(from);
  tracer_session* session = NULL;
  tracer_sink* sink = NULL;
  tracer_subscription* subscription = NULL;
  const tracer_status made = tracer_session_new(&options, &session, error);
  if (made != TRACER_OK) return made == TRACER_ERROR_FILE_UNREADABLE ? 77 : 1; /* No recording: skipped. */
  if (tracer_session_record(session, tracer_string_of(to), NULL, &sink, error) != TRACER_OK) return 2;
  if (tracer_session_subscribe(session, 0, count, NULL, NULL, &subscription, error) != TRACER_OK) return 3;
  if (tracer_session_start(session, error) != TRACER_OK) return 4;
  uint8_t finished = 0;
  while (tracer_session_finished(session, &finished) == TRACER_OK && !finished)
    if (tracer_session_dispatch(session, 1000, error) < 0) return 5;
  if (tracer_session_stop(session, error) != TRACER_OK || tracer_sink_problem(sink, error) != TRACER_OK) return 6;
  tracer_statistics statistics = TRACER_STATISTICS_INIT;
  if (tracer_session_statistics(session, &statistics, error) != TRACER_OK) return 7;
  if (statistics.events != (uint64_t)calls || calls == 0) return 8;
  tracer_subscription_free(subscription);
  tracer_sink_free(sink);
  tracer_session_free(session);
  return 0;
}

static int read_back(const char* file, tracer_error* error) {
  tracer_recording* recording = NULL;
  if (tracer_recording_open(tracer_string_of(file), &recording, error) != TRACER_OK) return 9;
  tracer_event_buffer* buffer = tracer_event_buffer_new(3);
  int read = 0;
  while (tracer_recording_read(recording, buffer, 0, error) > 0)
    for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i, ++read) {
      tracer_event_flat flat;
      flat.size = sizeof flat;
      const tracer_event* event = tracer_event_buffer_get(buffer, i);
      uint64_t time_ns = 0;
      if (tracer_event_get_flat(event, &flat) != TRACER_OK || flat.kind != tracer_event_get_kind(event)) return 10;
      if (flat.kind != TRACER_EVENT_PROCESS_EXIT) continue;
      if (tracer_event_get_u64(event, TRACER_FIELD_PROCESS_EXIT_TIME_NS, &time_ns) != TRACER_OK) return 11;
      if (time_ns != flat.time_ns || (flat.present & TRACER_HAS_PID) == 0) return 12;
    }
  tracer_event_buffer_free(buffer);
  tracer_recording_free(recording);
  return read == calls ? 0 : 13;
}

int main(int argc, char** argv) {
  if (argc != 3 || tracer_abi_version() < TRACER_ABI_VERSION) return 64;
  tracer_error error = TRACER_ERROR_INIT;
  int result = record(argv[1], argv[2], &error);
  if (result == 0) result = read_back(argv[2], &error);
  if (result != 0) printf("%d: %.*s\n", result, (int)error.text.length, error.text.length == 0 ? "" : error.text.data);
  tracer_error_release(&error);
  return result;
}
