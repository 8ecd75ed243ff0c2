/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recording and prints a table of tools: how many programs, how many failed, CPU seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracer.h>

struct tool {
  char name[64];
  unsigned long programs;
  unsigned long failed;
  double cpu_seconds;
};

static struct tool tools[256];
static size_t tool_count = 0;

static struct tool* tool_named(tracer_string name) {
  char text[sizeof tools->name];
  if (name.data == NULL) name = tracer_string_of("?");
  snprintf(text, sizeof text, "%.*s", (int)name.length, name.data);
  for (size_t i = 0; i < tool_count; ++i)
    if (strcmp(tools[i].name, text) == 0) return &tools[i];
  if (tool_count == sizeof tools / sizeof *tools) return &tools[tool_count - 1];
  memcpy(tools[tool_count].name, text, sizeof text);
  return &tools[tool_count++];
}

/* A process runs one program after another: an exec ends one, the exit ends the last. */
static void add(const tracer_event* event, tracer_field tool_field, tracer_field cpu_field, int failed) {
  tracer_string name;
  uint64_t cpu_ns = 0;
  tracer_event_get_string(event, tool_field, &name); /* Absent where it fails; 0 likewise. */
  tracer_event_get_u64(event, cpu_field, &cpu_ns);
  struct tool* tool = tool_named(name);
  ++tool->programs;
  tool->failed += failed != 0;
  tool->cpu_seconds += (double)cpu_ns / 1e9;
}

static void add_event(const tracer_event* event) {
  tracer_event_flat flat;
  flat.size = sizeof flat;
  if (tracer_event_get_flat(event, &flat) != TRACER_OK) return;
  if (flat.kind == TRACER_EVENT_PROCESS_EXEC)
    add(event, TRACER_FIELD_PROCESS_EXEC_ENDED_TOOL, TRACER_FIELD_PROCESS_EXEC_ENDED_CPU_NS, 0);
  if (flat.kind == TRACER_EVENT_PROCESS_EXIT)
    add(event, TRACER_FIELD_PROCESS_EXIT_PROGRAM_TOOL, TRACER_FIELD_PROCESS_EXIT_PROGRAM_CPU_NS, (int)flat.failed);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fputs("usage: tools RECORDING\n", stderr);
    return 2;
  }
  tracer_error error = TRACER_ERROR_INIT;
  tracer_recording* recording = NULL;
  if (tracer_recording_open(tracer_string_of(argv[1]), &recording, &error) != TRACER_OK) {
    fprintf(stderr, "%.*s\n", (int)error.text.length, error.text.data);
    tracer_error_release(&error);
    return EXIT_FAILURE;
  }
  tracer_event_buffer* buffer = tracer_event_buffer_new(1024);
  while (tracer_recording_read(recording, buffer, 0, NULL) > 0)
    for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i) add_event(tracer_event_buffer_get(buffer, i));
  for (size_t i = 0; i < tool_count; ++i)
    printf("%s\t%lu\t%lu\t%.3f s\n", tools[i].name, tools[i].programs, tools[i].failed, tools[i].cpu_seconds);
  tracer_damage damage = TRACER_DAMAGE_INIT;
  if (tracer_recording_damage(recording, &damage) == TRACER_OK && damage.any)
    fputs("the recording is damaged or not complete\n", stderr);
  tracer_event_buffer_free(buffer);
  tracer_recording_free(recording);
  return EXIT_SUCCESS;
}
