/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <dirent.h>
#include <unistd.h>

int walk_failures = 0;
const char* walk_folder = NULL;
int32_t recorded_pid = 0;

int string_is(tracer_string string, const char* text) {
  return string.data != NULL && string.length == strlen(text) && memcmp(string.data, text, string.length) == 0;
}

int string_has(tracer_string string, const char* part) {
  const size_t length = strlen(part);
  for (size_t i = 0; i + length <= string.length; ++i)
    if (memcmp(string.data + i, part, length) == 0) return 1;
  return 0;
}

const char* path_in_folder(const char* name) {
  static char paths[4][512];
  static unsigned next = 0;
  char* path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", walk_folder, name);
  return path;
}

const char* recorded_file(void) { return path_in_folder("recorded.tracer"); }

void write_file(const char* path, const void* data, size_t size) {
  FILE* file = fopen(path, "wb");
  REQUIRE(file != NULL);
  REQUIRE(fwrite(data, 1, size, file) == size);
  REQUIRE(fclose(file) == 0);
}

char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  REQUIRE(file != NULL);
  REQUIRE(fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  char* data = malloc(*size + 1);
  REQUIRE(data != NULL && fread(data, 1, *size, file) == *size);
  data[*size] = '\0';
  fclose(file);
  return data;
}

tracer_session* replay(tracer_reader reader) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.reader = reader;
  options.recording = tracer_string_of(recorded_file());
  tracer_session* session = NULL;
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  return session;
}

void run_to_end(tracer_session* session) {
  tracer_error error = TRACER_ERROR_INIT;
  uint8_t finished = 0;
  while (tracer_session_finished(session, &finished) == TRACER_OK && finished == 0)
    REQUIRE(tracer_session_dispatch(session, 1000, &error) >= 0);
}

static void remove_folder(void) {
  DIR* folder = opendir(walk_folder);
  REQUIRE(folder != NULL);
  for (struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder))
    if (entry->d_name[0] != '.') unlink(path_in_folder(entry->d_name));
  closedir(folder);
  rmdir(walk_folder);
}

static int may_trace(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_list* items = NULL;
  REQUIRE_OK(tracer_check(&items, &error));
  int may = 1;
  for (size_t i = 0; i < tracer_list_count(items); ++i) {
    tracer_check_item item = TRACER_CHECK_ITEM_INIT;
    REQUIRE_OK(tracer_list_check_item(items, i, &item));
    if (item.required && !item.available) may = 0;
  }
  tracer_list_free(items);
  return may;
}

/* Of its recording, for others. */
static void leave_copy(const char* path) {
  size_t size = 0;
  char* data = read_file(recorded_file(), &size);
  write_file(path, data, size);
  free(data);
}

int main(int argc, char** argv) {
  char folder[] = "/tmp/tracer-walk-XXXXXX";
  walk_folder = mkdtemp(folder);
  REQUIRE(walk_folder != NULL);
  walk_base();
  if (!may_trace()) {
    puts("skipped: this machine does not allow tracing");
    remove_folder();
    return 77;
  }
  walk_session();
  walk_events();
  walk_queues();
  walk_recordings();
  walk_callbacks();
  walk_labels();
  walk_announcements();
  walk_lists();
  walk_commands();
  walk_tables();
  walk_forks();
  walk_wrong_use();
  if (argc > 1) leave_copy(argv[1]);
  remove_folder();
  if (walk_failures != 0) {
    fprintf(stderr, "%d failed\n", walk_failures);
    return 1;
  }
  puts("the walk is done");
  return 0;
}
