// SPDX-License-Identifier: Apache-2.0
// PROCESSES processes of THREADS threads that sleep until standard input ends. Prints a line when all are there.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

static void* rest(void* nothing) {
  for (;;) pause();
  return nothing;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int processes = atoi(argv[1]);
  const int threads = atoi(argv[2]);
  int ready[2];
  if (pipe(ready) != 0) return 1;
  for (int made = 0; made < processes; ++made) {
    const pid_t pid = fork();
    if (pid < 0) return 1;
    if (pid != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    for (int i = 1; i < threads; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, &small, rest, NULL) != 0) _exit(1);
    }
    if (write(ready[1], "x", 1) != 1) _exit(1);
    rest(NULL);
  }
  for (int told = 0; told < processes; ++told) {
    char byte;
    if (read(ready[0], &byte, 1) != 1) return 1;
  }
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
