/* SPDX-License-Identifier: Apache-2.0 */
/* storm COUNT PROGRAM [ARGUMENT…]: runs PROGRAM COUNT times, one after the other, and prints the nanoseconds that it
 * took. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  char** child = argv + 2;
  char* environment[] = {NULL};
  const long count = atol(argv[1]);
  const long long begin = now_ns();
  for (long i = 0; i < count; i++) {
    pid_t pid;
    int status;
    if (posix_spawn(&pid, argv[2], NULL, NULL, child, environment) != 0 || waitpid(pid, &status, 0) != pid ||
        status != 0)
      return 1;
  }
  printf("%lld\n", now_ns() - begin);
  return 0;
}
