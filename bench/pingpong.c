/* SPDX-License-Identifier: Apache-2.0 */
/* pingpong TURNS BYTES [BACK]: two processes send BYTES there and BACK bytes back over a TCP connection, TURNS times;
 * as many back as there if BACK is not given. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char room[1 << 20];

static int whole(int fd, size_t bytes, int sends) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t moved =
        sends ? send(fd, room + done, bytes - done, MSG_NOSIGNAL) : recv(fd, room + done, bytes - done, 0);
    if (moved <= 0) return 0;
    done += (size_t)moved;
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long turns = atol(argv[1]);
  const size_t there = (size_t)atol(argv[2]);
  const size_t back = argc > 3 ? (size_t)atol(argv[3]) : there;
  if (there > sizeof room || back > sizeof room) return 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int on = 1;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&address, size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &size) != 0)
    return 1;
  const pid_t child = fork();
  if (child == 0) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr*)&address, size) != 0) return 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (long i = 0; i < turns; i++)
      if (!whole(fd, there, 1) || !whole(fd, back, 0)) return 1;
    return 0;
  }
  const int fd = accept(listener, NULL, NULL);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (long i = 0; i < turns; i++)
    if (!whole(fd, there, 0) || !whole(fd, back, 1)) return 1;
  int status = 1;
  return waitpid(child, &status, 0) != child || status != 0;
}
