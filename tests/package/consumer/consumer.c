/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody else's program would use of an installed libtracer-c; needs no privileges. */
#include <stdio.h>

#include <tracer.h>

int main(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_recording *recording = NULL;
  tracer_list *items = NULL;
  if (tracer_check(&items, &error) != TRACER_OK || tracer_list_count(items) == 0) return 1;
  tracer_list_free(items);
  if (tracer_recording_open(tracer_string_of("/no/such/recording"), &recording, &error) != TRACER_ERROR_FILE_UNREADABLE)
    return 1;
  tracer_error_release(&error);
  printf("tracer %.*s\n", (int)tracer_version().length, tracer_version().data);
  return 0;
}
