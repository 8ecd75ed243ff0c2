/* SPDX-License-Identifier: Apache-2.0 */
/* opens COUNT FILE: opens FILE and closes it again, COUNT times. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  for (long left = atol(argv[1]); left > 0; left--) {
    const int fd = open(argv[2], O_RDONLY);
    if (fd < 0) return 1;
    close(fd);
  }
  return 0;
}
