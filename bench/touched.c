/* SPDX-License-Identifier: Apache-2.0 */
/* touched FOLDER CGROUPS OPENS CONNECTIONS CONTAINERS WORKERS: in four quarters, WORKERS processes that live on make
 * and open OPENS files of different names in FOLDER and make CONNECTIONS connections to different addresses of this
 * host, and one more makes CONTAINERS cgroups in the folder CGROUPS, with a process in each, and removes them. A line
 * on standard input begins a quarter, a line on standard output says that it is over. Standard input's end ends all. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUARTERS = 4 };

static pid_t first; /* Which all others die with. */

static void fail(const char* what) {
  perror(what);
  kill(first, SIGKILL);
  _exit(1);
}

/* 127.1.0.0 and those after it, of which the host has 16 million. */
static struct sockaddr_in address_of(long number, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(0x7f010000u + (unsigned)number);
  return address;
}

static void serve(int listener) {
  for (;;) {
    const int peer = accept(listener, NULL, NULL);
    if (peer < 0) continue;
    char byte;
    if (read(peer, &byte, 1) == 1 && write(peer, &byte, 1) != 1) fail("answer");
    close(peer);
  }
}

static void connect_to(long number, int port) {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in own = address_of(number, 0), other = address_of(number, port);
  const struct linger at_once = {.l_onoff = 1};
  char byte = 'x';
  if (made < 0 || bind(made, (struct sockaddr*)&own, sizeof own) != 0 ||
      connect(made, (struct sockaddr*)&other, sizeof other) != 0 || write(made, &byte, 1) != 1 ||
      read(made, &byte, 1) != 1)
    fail("connection");
  /* No port waits after it. */
  setsockopt(made, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(made);
}

static void open_file(const char* folder, long number) {
  char path[4096];
  snprintf(path, sizeof path, "%s/a-name-of-a-usual-length-%ld.fastq.gz", folder, number);
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0 || write(fd, "x", 1) != 1) fail(path);
  close(fd);
  unlink(path);
}

/* As a container of Docker is called. */
static void make_container(const char* cgroups, long number) {
  char path[4096], procs[4200];
  snprintf(path, sizeof path, "%s/docker-%064lx.scope", cgroups, number + 1);
  if (mkdir(path, 0755) != 0) fail(path);
  const pid_t pid = fork();
  if (pid == 0) {
    snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
    const int fd = open(procs, O_WRONLY);
    if (fd < 0 || write(fd, "0", 1) != 1) fail(procs);
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) fail("process in a cgroup");
  /* It is empty a moment after its last process was waited for. */
  for (int tries = 0; rmdir(path) != 0; ++tries) {
    if (errno != EBUSY || tries == 10000) fail(path);
    usleep(100);
  }
}

struct Share {
  long begin, end;
};

/* Of `whole`: that of the worker in the quarter. */
static struct Share share_of(long whole, long worker, long workers, long quarter) {
  const long parts = workers * QUARTERS, part = worker * QUARTERS + quarter;
  return (struct Share){whole * part / parts, whole * (part + 1) / parts};
}

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const char *folder = argv[1], *cgroups = argv[2];
  const long opens = atol(argv[3]), connections = atol(argv[4]), containers = atol(argv[5]), workers = atol(argv[6]);
  first = getpid();
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in any = {.sin_family = AF_INET};
  socklen_t size = sizeof any;
  if (bind(listener, (struct sockaddr*)&any, size) != 0 || listen(listener, 4096) != 0 ||
      getsockname(listener, (struct sockaddr*)&any, &size) != 0)
    fail("server");
  const int port = ntohs(any.sin_port);
  pid_t* const pids = calloc((size_t)workers + 2, sizeof *pids);
  int done[2];
  volatile long* const begun = mmap(NULL, sizeof *begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pids == NULL || begun == MAP_FAILED || pipe(done) != 0) fail("pipe");
  /* The first makes the cgroups, the last serves. */
  for (long each = 0; each < workers + 2; ++each) {
    const pid_t pid = fork();
    if (pid < 0) fail("fork");
    pids[each] = pid;
    if (pid != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != first) _exit(1);
    if (each == workers + 1) serve(listener);
    close(listener);
    for (long quarter = 0; quarter < QUARTERS; ++quarter) {
      while (*begun <= quarter) usleep(1000);
      if (each == 0) {
        const struct Share share = share_of(containers, 0, 1, quarter);
        for (long i = share.begin; i < share.end; ++i) make_container(cgroups, i);
      } else {
        const struct Share files = share_of(opens, each - 1, workers, quarter);
        const struct Share peers = share_of(connections, each - 1, workers, quarter);
        for (long i = files.begin; i < files.end; ++i) open_file(folder, i);
        for (long i = peers.begin; i < peers.end; ++i) connect_to(i, port);
      }
      if (write(done[1], "x", 1) != 1) _exit(1);
    }
    pause();
  }
  close(done[1]);
  puts("ready");
  fflush(stdout);
  char line[16];
  for (long quarter = 0; quarter < QUARTERS && fgets(line, sizeof line, stdin); ++quarter) {
    *begun = quarter + 1;
    for (long each = 0; each < workers + 1; ++each) {
      char byte;
      if (read(done[0], &byte, 1) != 1) fail("a worker has ended");
    }
    puts("done");
    fflush(stdout);
  }
  while (fgets(line, sizeof line, stdin)) continue;
  /* One after the other, as programs end. */
  for (long each = 0; each < workers + 2; ++each) {
    kill(pids[each], SIGTERM);
    waitpid(pids[each], NULL, 0);
    usleep(50000);
  }
  return 0;
}
