/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading recordings. The format is in docs/recording-format.md. */
#ifndef TRACER_RECORDING_H
#define TRACER_RECORDING_H

#include <tracer/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the events of a session, on its own thread. May outlive the session. Thread-safe. */
typedef struct tracer_sink tracer_sink;

/* @since 0.1. Records from now on. Replaces an existing file. Ignores `apart` of the options; NULL: defaults. A sink
 * whose handle was freed continues until the session's end. TRACER_ERROR_FILE_UNWRITABLE; TRACER_ENDED. */
TRACER_API tracer_status tracer_session_record(tracer_session* session, tracer_string path,
                                               const tracer_queue_options* options, tracer_sink** out,
                                               tracer_error* error);
/* @since 0.1. The same, into an open descriptor, which it duplicates; `name` is for messages only. */
TRACER_API tracer_status tracer_session_record_fd(tracer_session* session, int fd, tracer_string name,
                                                  const tracer_queue_options* options, tracer_sink** out,
                                                  tracer_error* error);
/* @since 0.1. Writes one JSON object per line: the host, then each event. */
TRACER_API tracer_status tracer_session_write_json(tracer_session* session, tracer_string path,
                                                   const tracer_queue_options* options, tracer_sink** out,
                                                   tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_session_write_json_fd(tracer_session* session, int fd, tracer_string name,
                                                      const tracer_queue_options* options, tracer_sink** out,
                                                      tracer_error* error);
/* @since 0.1. TRACER_OK while all is well. Otherwise the problem that stopped the sink, such as a full disk
 * (TRACER_ERROR_FILE_UNWRITABLE with its errno), or that it was given up. The data that it has written stays. */
TRACER_API tracer_status tracer_sink_problem(const tracer_sink* sink, tracer_error* error);
/* @since 0.1. Waits until it has written all events that were delivered before the call. Negative: without a limit.
 * TRACER_TIMED_OUT; the status of tracer_sink_problem(). */
TRACER_API tracer_status tracer_sink_flush(tracer_sink* sink, int64_t timeout_ms, tracer_error* error);
/* @since 0.1. The number of events that it did not get because its queue was full. */
TRACER_API tracer_status tracer_sink_dropped(const tracer_sink* sink, uint64_t* out);
/* @since 0.1. Gives the sink no more events, lets it write the events in its queue, and closes its file; waits for that
 * for at most two seconds. Returns the status of tracer_sink_problem(). */
TRACER_API tracer_status tracer_sink_close(tracer_sink* sink, tracer_error* error);
/* @since 0.1. Before this, call tracer_sink_problem() after the session's end. */
TRACER_API void tracer_sink_free(tracer_sink* sink);

/* The machine, and its clocks, that events come from. */
typedef struct tracer_host {
  size_t size;
  tracer_string boot_id;
  tracer_string host_name;
  tracer_string kernel_release;
  tracer_string architecture;
  tracer_string tracer_version;
  tracer_string session_id; /* 16 hexadecimal digits; empty: no session. */
  uint64_t memory_bytes;
  uint64_t wall_offset_ns; /* Add it to a time of the boot clock to get Unix time; read with this. */
  uint32_t cpu_count;
  uint32_t reserved;
} tracer_host;

#define TRACER_HOST_INIT \
  { sizeof(tracer_host), {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0 }

/* @since 0.1. In a replay, the recorded host. Texts are valid as long as the session. */
TRACER_API tracer_status tracer_session_host(const tracer_session* session, tracer_host* out);
/* @since 0.1. This machine, without a session: a list of one. */
TRACER_API tracer_status tracer_host_get(tracer_list** out, tracer_error* error);
/* @since 0.1. For tracer_host_get(). */
TRACER_API tracer_status tracer_list_host(const tracer_list* list, size_t index, tracer_host* out);
/* @since 0.1. One JSON object, `kind` "host" first, without a line end: the head of dumps. */
TRACER_API tracer_status tracer_host_to_json(const tracer_host* host, tracer_text** out, tracer_error* error);

/* Writes a recording of events that you have, such as those of another recording, on the calling thread. Used by one
 * thread at a time. */
typedef struct tracer_writer tracer_writer;

/* @since 0.1. Replaces an existing file. `host`: where the events come from; NULL: this machine.
 * TRACER_ERROR_FILE_UNWRITABLE. */
TRACER_API tracer_status tracer_writer_new(tracer_string path, const tracer_host* host, tracer_writer** out,
                                           tracer_error* error);
/* @since 0.1. The same, into an open descriptor, which it duplicates; `name` is for messages only. */
TRACER_API tracer_status tracer_writer_new_fd(int fd, tracer_string name, const tracer_host* host, tracer_writer** out,
                                              tracer_error* error);
/* @since 0.1. Takes the next event, and writes it together with others. The last one should be a
 * TRACER_EVENT_SESSION_END: without it, the recording counts as truncated. TRACER_ERROR_FILE_UNWRITABLE, which
 * persists; TRACER_ENDED: it was closed. */
TRACER_API tracer_status tracer_writer_write(tracer_writer* writer, const tracer_event* event, tracer_error* error);
/* @since 0.1. Writes the events that it has taken. TRACER_ERROR_FILE_UNWRITABLE; TRACER_ENDED. */
TRACER_API tracer_status tracer_writer_flush(tracer_writer* writer, tracer_error* error);
/* @since 0.1. Writes the rest, and closes the file. TRACER_ERROR_FILE_UNWRITABLE; TRACER_ENDED: it was closed before.
 */
TRACER_API tracer_status tracer_writer_close(tracer_writer* writer, tracer_error* error);
/* @since 0.1. Closes it without reporting errors; tracer_writer_close() reports them. In a forked child, it only
 * discards the handle. */
TRACER_API void tracer_writer_free(tracer_writer* writer);

/* Reads the events of a recording in their order, frame by frame, in bounded memory. Used by one thread at a time, and
 * not by both a parent and its forked child. */
typedef struct tracer_recording tracer_recording;

/* @since 0.1. TRACER_ERROR_FILE_UNREADABLE, _NOT_A_RECORDING, _OLDER_SCHEMA, _NEWER_SCHEMA, _CORRUPT_RECORDING. */
TRACER_API tracer_status tracer_recording_open(tracer_string path, tracer_recording** out, tracer_error* error);
/* @since 0.1. Reads an open descriptor, which may be a pipe, and which it duplicates. */
TRACER_API tracer_status tracer_recording_open_fd(int fd, tracer_string name, tracer_recording** out,
                                                  tracer_error* error);
/* @since 0.2. The files of one session as one recording, in any order, or folders that hold them. As
 * tracer_recording_open(); several sessions are TRACER_ERROR_INVALID_ARGUMENT. */
TRACER_API tracer_status tracer_recording_open_files(const tracer_string* files, size_t count, tracer_recording** out,
                                                     tracer_error* error);
/* @since 0.2. Of all that it has not read yet, which it reads: what `tracerd why --json` says of a run, task or
 * process, by its name, id, key or pid; an empty text: the findings and runs. TRACER_ERROR_INVALID_ARGUMENT: it has no
 * such thing, or several; TRACER_ERROR_FILE_UNREADABLE. */
TRACER_API tracer_status tracer_recording_why_json(tracer_recording* recording, tracer_string asked, tracer_text** out,
                                                   tracer_error* error);
/* @since 0.2. Likewise, what the run or task with this key consumed and moved over time: docs/state.md. */
TRACER_API tracer_status tracer_recording_over_time_json(tracer_recording* recording, tracer_string key,
                                                         tracer_text** out, tracer_error* error);
/* @since 0.2. Likewise, by open descriptors, which it duplicates; what else reads by them is not disturbed. */
TRACER_API tracer_status tracer_recording_open_fds(const int* fds, size_t count, tracer_recording** out,
                                                   tracer_error* error);
/* @since 0.1 */
TRACER_API void tracer_recording_free(tracer_recording* recording);
/* @since 0.1. Texts are valid as long as the recording. */
TRACER_API tracer_status tracer_recording_host(const tracer_recording* recording, tracer_host* out);
/* @since 0.1. The next events, at most `max` (0: as many as the buffer has room for). Returns their number, 0 at the
 * end, or a negative status. Damage is skipped and counted. */
TRACER_API int64_t tracer_recording_read(tracer_recording* recording, tracer_event_buffer* buffer, size_t max,
                                         tracer_error* error);

/* The parts of a recording that could not be read. */
typedef struct tracer_damage {
  size_t size;
  uint64_t skipped_bytes;  /* In frames that are cut, fail their checksum or break a rule of the format. */
  uint64_t skipped_events; /* In intact frames: of newer kinds, or larger than their bytes may hold. */
  uint64_t missing_frames;
  int32_t read_error; /* errno of the read that failed; 0: none. */
  uint8_t truncated;  /* It has no session's end, and no sign of a next file. */
  uint8_t any;        /* Any of these. */
  uint8_t reserved[2];
} tracer_damage;

#define TRACER_DAMAGE_INIT                            \
  {                                                   \
    sizeof(tracer_damage), 0, 0, 0, 0, 0, 0, { 0, 0 } \
  }

/* @since 0.1. Final once tracer_recording_read() has returned 0. */
TRACER_API tracer_status tracer_recording_damage(const tracer_recording* recording, tracer_damage* out);

/* Files of what a service has recorded that the caller may see. */
typedef struct tracer_past tracer_past;

/* One of them. Those with the same owner and session are one recording: tracer_recording_open_fds(). */
typedef struct tracer_past_file {
  size_t size;
  int fd;             /* Of the tracer_past, which closes it. */
  uint32_t owner_uid; /* Whose it is. 0: it has what is nobody else's. */
  tracer_string session_id;
  uint64_t number; /* Among those of the recording, from 1. */
  uint64_t bytes;
  uint64_t written_unix_ns; /* When last. */
} tracer_past_file;

#define TRACER_PAST_FILE_INIT \
  { sizeof(tracer_past_file), -1, 0, {NULL, 0}, 0, 0, 0 }

/* @since 0.2. Asks the service at `socket` (none: TRACER_SOCKET, or /run/tracer/tracer.sock); without the files that
 * were written last before `since_unix_ns`. TRACER_ERROR_INVALID_ARGUMENT if the service does not record by owner,
 * _NO_SERVICE, _PERMISSION, _SERVICE_REFUSED. */
TRACER_API tracer_status tracer_past_new(tracer_string socket, uint64_t since_unix_ns, tracer_past** out,
                                         tracer_error* error);
/* @since 0.2 */
TRACER_API void tracer_past_free(tracer_past* past);
/* @since 0.2. How many files there are. */
TRACER_API size_t tracer_past_count(const tracer_past* past);
/* @since 0.2. Those that were written last come first. Texts and descriptor are valid as long as `past`. */
TRACER_API tracer_status tracer_past_get(const tracer_past* past, size_t index, tracer_past_file* out);

#ifdef __cplusplus
}
#endif

#endif
