/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* All events of a recording that may be damaged; never more than a recording can have. */
static uint64_t read_all(tracer_recording* recording) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_event_buffer* buffer = tracer_event_buffer_new(7);
  uint64_t events = 0;
  int64_t count = 0;
  while ((count = tracer_recording_read(recording, buffer, 0, &error)) > 0) events += (uint64_t)count;
  CHECK(count == 0);
  tracer_event_buffer_free(buffer);
  return events;
}

static void hosts(const tracer_recording* recording) {
  tracer_session* session = replay(TRACER_READER_POLL);
  tracer_host recorded = TRACER_HOST_INIT;
  tracer_host replayed = TRACER_HOST_INIT;
  CHECK(tracer_recording_host(recording, &recorded) == TRACER_OK);
  CHECK(tracer_session_host(session, &replayed) == TRACER_OK);
  CHECK(recorded.boot_id.length == 36 && recorded.cpu_count >= 1 && recorded.memory_bytes > 0);
  CHECK(recorded.boot_id.length == replayed.boot_id.length &&
        memcmp(recorded.boot_id.data, replayed.boot_id.data, recorded.boot_id.length) == 0);
  CHECK(recorded.wall_offset_ns == replayed.wall_offset_ns);
  tracer_session_free(session);
}

static uint64_t whole(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_recording* recording = NULL;
  REQUIRE_OK(tracer_recording_open(tracer_string_of(recorded_file()), &recording, &error));
  hosts(recording);
  const uint64_t events = read_all(recording);
  CHECK(events > 3);
  tracer_damage damage = TRACER_DAMAGE_INIT;
  CHECK(tracer_recording_damage(recording, &damage) == TRACER_OK && damage.any == 0 && damage.truncated == 0);
  tracer_recording_free(recording);

  const int fd = open(recorded_file(), O_RDONLY);
  REQUIRE_OK(tracer_recording_open_fd(fd, tracer_string_of("a name"), &recording, &error));
  close(fd);
  CHECK(read_all(recording) == events);
  tracer_recording_free(recording);
  /* The same file twice is read once. */
  const tracer_string files[] = {tracer_string_of(recorded_file()), tracer_string_of(recorded_file())};
  REQUIRE_OK(tracer_recording_open_files(files, 2, &recording, &error));
  CHECK(read_all(recording) == events);
  tracer_recording_free(recording);
  tracer_text* text = NULL;
  REQUIRE_OK(tracer_recording_open(tracer_string_of(recorded_file()), &recording, &error));
  REQUIRE_OK(tracer_recording_why_json(recording, tracer_string_of(""), &text, &error));
  CHECK(tracer_text_get(text).length > 0);
  tracer_text_free(text);
  tracer_recording_free(recording);
  REQUIRE_OK(tracer_recording_open(tracer_string_of(recorded_file()), &recording, &error));
  CHECK(tracer_recording_over_time_json(recording, tracer_string_of("none"), &text, &error) ==
        TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);
  tracer_recording_free(recording);
  CHECK(tracer_recording_open_files(NULL, 0, &recording, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);
  CHECK(tracer_recording_open_fd(-1, tracer_string_of("a name"), &recording, &error) == TRACER_ERROR_FILE_UNREADABLE);
  CHECK(error.error_number == EBADF);
  tracer_error_release(&error);
  /* Likewise by descriptors, each of which can be read again. */
  const int fds[] = {open(recorded_file(), O_RDONLY), open(recorded_file(), O_RDONLY), -1};
  for (int again = 0; again < 2; ++again) {
    REQUIRE_OK(tracer_recording_open_fds(fds, 2, &recording, &error));
    CHECK(read_all(recording) == events);
    tracer_recording_free(recording);
  }
  CHECK(tracer_recording_open_fds(fds, 3, &recording, &error) == TRACER_ERROR_FILE_UNREADABLE);
  tracer_error_release(&error);
  CHECK(tracer_recording_open_fds(fds, 0, &recording, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);
  close(fds[0]);
  close(fds[1]);
  tracer_past* past = NULL;
  CHECK(tracer_past_new(tracer_string_of("/no/such/socket"), 0, &past, &error) == TRACER_ERROR_NO_SERVICE);
  tracer_error_release(&error);
  CHECK(tracer_past_count(past) == 0);
  tracer_past_file file = TRACER_PAST_FILE_INIT;
  CHECK(tracer_past_get(past, 0, &file) != TRACER_OK);
  tracer_past_free(past);
  return events;
}

/* At every length: an error of the header, or what is whole, and that it was cut. */
static void truncated(uint64_t events) {
  size_t size = 0;
  char* data = read_file(recorded_file(), &size);
  const char* path = path_in_folder("cut.tracer");
  char kept[512];
  snprintf(kept, sizeof kept, "%s", path);
  size_t opened = 0;
  for (size_t length = 0; length < size; length += length < 600 ? 1 : 97) {
    write_file(kept, data, length);
    tracer_error error = TRACER_ERROR_INIT;
    tracer_recording* recording = NULL;
    const tracer_status status = tracer_recording_open(tracer_string_of(kept), &recording, &error);
    CHECK((status == TRACER_OK) == (recording != NULL));
    if (status == TRACER_OK) {
      ++opened;
      CHECK(read_all(recording) < events);
      tracer_damage damage = TRACER_DAMAGE_INIT;
      CHECK(tracer_recording_damage(recording, &damage) == TRACER_OK && damage.truncated == 1 && damage.any == 1);
      tracer_recording_free(recording);
    } else {
      CHECK(status == TRACER_ERROR_CORRUPT_RECORDING || status == TRACER_ERROR_NOT_A_RECORDING);
      CHECK(error.status == status && error.text.length != 0);
    }
    tracer_error_release(&error);
  }
  CHECK(opened > 0);
  free(data);
}

/* A full disk is never silent. */
static void full_disk(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(TRACER_READER_POLL);
  const int full = open("/dev/full", O_WRONLY);
  REQUIRE(full >= 0);
  tracer_sink* recording = NULL;
  REQUIRE_OK(tracer_session_record_fd(session, full, tracer_string_of("/dev/full"), NULL, &recording, &error));
  tracer_sink* json = NULL;
  REQUIRE_OK(tracer_session_write_json_fd(session, full, tracer_string_of("/dev/full"), NULL, &json, &error));
  close(full);
  REQUIRE_OK(tracer_session_start(session, &error));
  run_to_end(session);
  CHECK(tracer_sink_flush(recording, 10000, &error) == TRACER_ERROR_FILE_UNWRITABLE);
  CHECK(error.error_number == ENOSPC && string_has(error.text, "/dev/full"));
  REQUIRE_OK(tracer_session_stop(session, &error));
  CHECK(tracer_sink_problem(recording, &error) == TRACER_ERROR_FILE_UNWRITABLE && error.error_number == ENOSPC);
  CHECK(tracer_sink_problem(json, NULL) == TRACER_ERROR_FILE_UNWRITABLE);
  CHECK(tracer_sink_close(recording, &error) == TRACER_ERROR_FILE_UNWRITABLE && error.error_number == ENOSPC);
  CHECK(tracer_sink_problem(recording, NULL) == TRACER_ERROR_FILE_UNWRITABLE);
  CHECK(tracer_sink_close(json, NULL) == TRACER_ERROR_FILE_UNWRITABLE);
  tracer_error_release(&error);
  tracer_sink_free(recording);
  tracer_sink_free(json);
  tracer_session_free(session);
}

static void unwritable(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(TRACER_READER_POLL);
  tracer_sink* sink = NULL;
  CHECK(tracer_session_record(session, tracer_string_of("/no/such/folder/x"), NULL, &sink, &error) ==
        TRACER_ERROR_FILE_UNWRITABLE);
  CHECK(sink == NULL && error.error_number == ENOENT);
  CHECK(tracer_session_write_json(session, tracer_string_of(""), NULL, &sink, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_record_fd(session, -1, tracer_string_of("x"), NULL, &sink, &error) ==
        TRACER_ERROR_FILE_UNWRITABLE);
  tracer_error_release(&error);
  tracer_session_free(session);
}

/* What is recorded of a replay is what was replayed. */
static void copied(uint64_t events) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(TRACER_READER_OWN_THREAD);
  const char* path = path_in_folder("copy.tracer");
  tracer_sink* sink = NULL;
  REQUIRE_OK(tracer_session_record(session, tracer_string_of(path), NULL, &sink, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  run_to_end(session);
  REQUIRE_OK(tracer_session_stop(session, &error));
  CHECK(tracer_sink_problem(sink, &error) == TRACER_OK);
  tracer_sink_free(sink);
  tracer_session_free(session);
  tracer_recording* recording = NULL;
  REQUIRE_OK(tracer_recording_open(tracer_string_of(path), &recording, &error));
  CHECK(read_all(recording) == events);
  tracer_recording_free(recording);
}

/* With a writer of one's own: the same events, of the same machine. */
static void written(uint64_t events) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_recording* from = NULL;
  REQUIRE_OK(tracer_recording_open(tracer_string_of(recorded_file()), &from, &error));
  tracer_host host = TRACER_HOST_INIT;
  REQUIRE_OK(tracer_recording_host(from, &host));
  const char* path = path_in_folder("written.tracer");
  tracer_writer* writer = NULL;
  CHECK(tracer_writer_new(tracer_string_of("/no/such/folder/x"), &host, &writer, &error) ==
            TRACER_ERROR_FILE_UNWRITABLE &&
        writer == NULL);
  host.reserved = 1;
  CHECK(tracer_writer_new(tracer_string_of(path), &host, &writer, &error) == TRACER_WRONG_SIZE);
  host.reserved = 0;
  REQUIRE_OK(tracer_writer_new(tracer_string_of(path), &host, &writer, &error));
  tracer_event_buffer* buffer = tracer_event_buffer_new(8);
  CHECK(tracer_writer_write(writer, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  while (tracer_recording_read(from, buffer, 0, &error) > 0)
    for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i)
      REQUIRE_OK(tracer_writer_write(writer, tracer_event_buffer_get(buffer, i), &error));
  REQUIRE_OK(tracer_writer_flush(writer, &error));
  REQUIRE_OK(tracer_writer_close(writer, &error));
  CHECK(tracer_writer_close(writer, &error) == TRACER_ENDED && tracer_writer_flush(writer, &error) == TRACER_ENDED);
  tracer_writer_free(writer);
  tracer_recording* back = NULL;
  REQUIRE_OK(tracer_recording_open(tracer_string_of(path), &back, &error));
  tracer_host same = TRACER_HOST_INIT;
  REQUIRE_OK(tracer_recording_host(back, &same));
  CHECK(string_is(same.boot_id, "") == 0 && same.boot_id.length == host.boot_id.length);
  CHECK(memcmp(same.boot_id.data, host.boot_id.data, host.boot_id.length) == 0);
  CHECK(same.wall_offset_ns == host.wall_offset_ns && same.memory_bytes == host.memory_bytes);
  CHECK(read_all(back) == events);
  tracer_damage damage = TRACER_DAMAGE_INIT;
  CHECK(tracer_recording_damage(back, &damage) == TRACER_OK && damage.any == 0);
  tracer_recording_free(back);
  tracer_recording_free(from);
  tracer_event_buffer_free(buffer);
  tracer_error_release(&error);
}

/* A full disk, and a pipe that nobody reads: no signal comes of it. */
static void unwritten(int fd, int error_number) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_writer* writer = NULL;
  REQUIRE(fd >= 0);
  REQUIRE_OK(tracer_writer_new_fd(fd, tracer_string_of("out"), NULL, &writer, &error));
  close(fd);
  CHECK(tracer_writer_close(writer, &error) == TRACER_ERROR_FILE_UNWRITABLE && error.error_number == error_number);
  CHECK(tracer_writer_flush(writer, &error) == TRACER_ERROR_FILE_UNWRITABLE && string_has(error.text, "out"));
  tracer_writer_free(writer);
  CHECK(tracer_writer_new_fd(-1, tracer_string_of("x"), NULL, &writer, &error) == TRACER_ERROR_FILE_UNWRITABLE);
  tracer_error_release(&error);
}

static int has_text(tracer_text* text, const char* part) {
  const int has = string_has(tracer_text_get(text), part);
  tracer_text_free(text);
  return has;
}

/* It is read at once, and no part of it is asked for later. */
static void priced(tracer_summary* summary) {
  tracer_error error = TRACER_ERROR_INIT;
  const char* path = path_in_folder("price.json");
  FILE* file = fopen(path, "w");
  REQUIRE(file != NULL);
  fputs(
      "{\"schema\":1,\"currency\":\"USD\",\"usd_per_hour\":\"0.1\",\"usd_per_cpu_hour\":\"0.03\",\"usd_per_gib_hour\":"
      "\"0.004\",\"basis\":\"given\",\"date\":\"2026-11-01\"}\n",
      file);
  REQUIRE(fclose(file) == 0);
  REQUIRE_OK(tracer_summary_use_price(summary, tracer_string_of(path), &error));
  CHECK(unlink(path) == 0);
  CHECK(tracer_summary_use_price(summary, tracer_string_of(path), &error) == TRACER_ERROR_FILE_UNREADABLE);
  CHECK(tracer_summary_use_price(summary, tracer_string_of("/dev/null"), &error) == TRACER_ERROR_FILE_UNREADABLE);
  CHECK(tracer_summary_use_price(NULL, tracer_string_of(path), &error) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);
}

/* The same events give the same report, however they come. */
static void reported(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_summary* read = NULL;
  tracer_summary* added = NULL;
  tracer_summary* followed = NULL;
  tracer_recording* recording = NULL;
  REQUIRE_OK(tracer_summary_new(&read, &error));
  REQUIRE_OK(tracer_recording_open(tracer_string_of(recorded_file()), &recording, &error));
  REQUIRE_OK(tracer_summary_read(read, recording, &error));
  tracer_recording_free(recording);

  priced(read);

  REQUIRE_OK(tracer_summary_new(&added, &error));
  REQUIRE_OK(tracer_recording_open(tracer_string_of(recorded_file()), &recording, &error));
  tracer_event_buffer* buffer = tracer_event_buffer_new(7);
  for (int64_t count = 0; (count = tracer_recording_read(recording, buffer, 0, &error)) > 0;)
    for (int64_t i = 0; i < count; ++i)
      REQUIRE_OK(tracer_summary_add(added, tracer_event_buffer_get(buffer, (size_t)i), &error));
  tracer_event_buffer_free(buffer);
  tracer_recording_free(recording);

  tracer_session* session = replay(TRACER_READER_POLL);
  REQUIRE_OK(tracer_session_summarize(session, &followed, &error));
  CHECK(tracer_summary_read(followed, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_summary_add(followed, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  REQUIRE_OK(tracer_session_start(session, &error));
  run_to_end(session);
  tracer_session_free(session);

  tracer_text* first = NULL;
  REQUIRE_OK(tracer_report_json(read, &first, &error));
  const tracer_string json = tracer_text_get(first);
  CHECK(string_has(json, "{\"schema\":1,\"certificate\":{\"tier\":\"recording\",\"complete\":true"));
  CHECK(string_has(json, "\"failed\":1"));
  char* whole = malloc(json.length + 1);
  REQUIRE(whole != NULL);
  memcpy(whole, json.data, json.length);
  whole[json.length] = 0;
  /* What the tracing cost depends on who asks. */
  char* cost = strstr(whole, ",\"cost\":");
  REQUIRE(cost != NULL);
  *cost = 0;
  tracer_text* text = NULL;
  REQUIRE_OK(tracer_report_json(added, &text, &error));
  CHECK(has_text(text, whole));
  REQUIRE_OK(tracer_report_json(followed, &text, &error));
  CHECK(has_text(text, whole));
  free(whole);
  tracer_text_free(first);
  CHECK(tracer_report_json(NULL, &text, &error) == TRACER_ERROR_INVALID_ARGUMENT && text == NULL);
  CHECK(tracer_report_json(read, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_summary_free(followed);
  CHECK(tracer_session_summarize(NULL, &followed, &error) == TRACER_ERROR_INVALID_ARGUMENT && followed == NULL);
  tracer_error_release(&error);
  tracer_summary_free(read);
  tracer_summary_free(added);
  tracer_summary_free(NULL);
}

/* What the run of walk_session() came to, also after the end; and from what an earlier reply ended with, nothing. */
static void states(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_text* text = NULL;
  tracer_session* session = replay(TRACER_READER_POLL);
  REQUIRE_OK(tracer_session_state_json(session, NULL, &text, &error));
  CHECK(has_text(text, "\"tasks\":[]"));
  REQUIRE_OK(tracer_session_start(session, &error));
  run_to_end(session);
  const tracer_string rows[] = {tracer_string_of("tasks"), tracer_string_of("counts")};
  const tracer_string fields[] = {tracer_string_of("name"), tracer_string_of("state"), tracer_string_of("processes")};
  tracer_state_query query = TRACER_STATE_QUERY_INIT;
  query.rows = rows;
  query.row_count = 2;
  query.fields = fields;
  query.field_count = 3;
  tracer_text* whole = NULL;
  REQUIRE_OK(tracer_session_state_json(session, &query, &whole, &error));
  const tracer_string json = tracer_text_get(whole);
  CHECK(string_has(json, "\"SHELL (S1) (attempt 2)\"") && string_has(json, "\"finished\"") &&
        string_has(json, "\"processes\":1"));
  CHECK(!string_has(json, "\"runs\":[") && !string_has(json, "cpu_ns"));
  char since[256];
  const char* begin = strstr(json.data, "\"since\":\"");
  REQUIRE(begin != NULL && sscanf(begin, "\"since\":\"%200[^\"]", since) == 1);
  tracer_text_free(whole);
  query.since = tracer_string_of(since);
  REQUIRE_OK(tracer_session_state_json(session, &query, &text, &error));
  CHECK(has_text(text, "\"tasks\":[]"));
  query.since = tracer_string_of("of nobody");
  REQUIRE_OK(tracer_session_state_json(session, &query, &text, &error));
  CHECK(has_text(text, "\"SHELL (S1) (attempt 2)\""));
  query.key = tracer_string_of("no key");
  CHECK(tracer_session_state_json(session, &query, &text, &error) == TRACER_ERROR_INVALID_ARGUMENT && text == NULL);
  query.key.data = NULL;
  query.key.length = 1;
  CHECK(tracer_session_state_json(session, &query, &text, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  query.key.length = 0;
  query.rows = NULL;
  CHECK(tracer_session_state_json(session, &query, &text, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  query.size = sizeof(size_t);
  CHECK(tracer_session_state_json(session, &query, &text, &error) == TRACER_WRONG_SIZE);
  CHECK(tracer_session_state_json(session, NULL, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_state_json(NULL, NULL, &text, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);
  tracer_session_free(session);
}

void walk_recordings(void) {
  const uint64_t events = whole();
  written(events);
  unwritten(open("/dev/full", O_WRONLY), ENOSPC);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  unwritten(ends[1], EPIPE);
  truncated(events);
  full_disk();
  unwritable();
  copied(events);
  reported();
  states();
}
