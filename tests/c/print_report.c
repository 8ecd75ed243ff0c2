/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the report of a recording: print_report FILE [PRICE] */
#include <stdio.h>

#include <tracer.h>

int main(int argc, char** argv) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_recording* recording = NULL;
  tracer_summary* summary = NULL;
  tracer_text* json = NULL;
  if (argc != 2 && argc != 3) return 2;
  tracer_status status = tracer_recording_open(tracer_string_of(argv[1]), &recording, &error);
  if (status == TRACER_OK) status = tracer_summary_new(&summary, &error);
  if (status == TRACER_OK) status = tracer_summary_read(summary, recording, &error);
  if (status == TRACER_OK && argc == 3) status = tracer_summary_use_price(summary, tracer_string_of(argv[2]), &error);
  if (status == TRACER_OK) status = tracer_report_json(summary, &json, &error);
  if (status == TRACER_OK) {
    const tracer_string text = tracer_text_get(json);
    fwrite(text.data, 1, text.length, stdout);
    putchar('\n');
  } else {
    fprintf(stderr, "%.*s\n", (int)error.text.length, error.text.data);
  }
  tracer_text_free(json);
  tracer_summary_free(summary);
  tracer_recording_free(recording);
  tracer_error_release(&error);
  return status == TRACER_OK ? 0 : 1;
}
