/* SPDX-License-Identifier: Apache-2.0 */
/* A walk through all of the C interface, by noun: each function is called, rightly and wrongly. */
#ifndef WALK_H
#define WALK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracer.h>

extern int walk_failures;
extern const char* walk_folder; /* For files; gone afterwards. */

#define CHECK(fact)                                                      \
  do {                                                                   \
    if (!(fact)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #fact); \
      ++walk_failures;                                                   \
    }                                                                    \
  } while (0)

/* What must be so for the rest to make sense. */
#define REQUIRE(fact)                                                    \
  do {                                                                   \
    if (!(fact)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #fact); \
      exit(1);                                                           \
    }                                                                    \
  } while (0)

/* That it is TRACER_OK, with the error's text if it is not. */
#define REQUIRE_OK(call)                                                                                          \
  do {                                                                                                            \
    const tracer_status status_ = (tracer_status)(call);                                                          \
    if (status_ != TRACER_OK) {                                                                                   \
      fprintf(stderr, "%s:%d: %s is %d: %.*s\n", __FILE__, __LINE__, #call, (int)status_, (int)error.text.length, \
              error.text.length == 0 ? "" : error.text.data);                                                     \
      exit(1);                                                                                                    \
    }                                                                                                             \
  } while (0)

int string_is(tracer_string string, const char* text);
int string_has(tracer_string string, const char* part);
/* "FOLDER/NAME"; valid until the next four calls. */
const char* path_in_folder(const char* name);
void write_file(const char* path, const void* data, size_t size);
/* The caller frees it. */
char* read_file(const char* path, size_t* size);

/* What the recording of walk_session() has, for the others: `sh -c` that exits with 7, followed as pid. */
extern int32_t recorded_pid;
#define RECORDED_STATUS 7
const char* recorded_file(void);

/* A new session that replays recorded_file(). */
tracer_session* replay(tracer_reader reader);
/* Dispatches until it has finished. */
void run_to_end(tracer_session* session);

void walk_base(void);
void walk_session(void);
void walk_events(void);
void walk_queues(void);
void walk_recordings(void);
void walk_callbacks(void);
void walk_labels(void);
void walk_announcements(void);
void walk_lists(void);
void walk_commands(void);
void walk_tables(void);
void walk_forks(void);
void walk_wrong_use(void);

#endif
