// SPDX-License-Identifier: Apache-2.0
// A tool that carries the truth about its task in its own arguments: marker --step ALIGN --tag S1 --attempt 2 ...
// Arguments come in pairs. It ignores all but these:
//   --cat 1    copy the input to the output, as a filter in a pipe
//   --exit N   end with this status
//   --ms N     live at least as long, instead of 20
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char** argv) {
  int status = 0;
  int copies = 0;
  long ms = 20;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--exit")) status = atoi(argv[i + 1]);
    if (!strcmp(argv[i], "--cat")) copies = 1;
    if (!strcmp(argv[i], "--ms")) ms = atol(argv[i + 1]);
  }
  // Some CPU time, so that it is seen as work.
  volatile unsigned long x = 1;
  while (cpu_ns() < 2000000) x = x * 6364136223846793005UL + 1;
  struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&rest, NULL);
  char buffer[4096];
  for (ssize_t got; copies && (got = read(0, buffer, sizeof buffer)) > 0;)
    if (write(1, buffer, (size_t)got) != got) return 9;
  return status;
}
