// SPDX-License-Identifier: Apache-2.0
#include "truth_waits_data.hpp"

#include <arpa/inet.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>

namespace truth {
namespace {

constexpr std::size_t kPipeBytes = 65536;

void report_with(std::uint64_t ns, pid_t peer) {
  report(ns);
  report(static_cast<std::uint64_t>(peer));
  reap(peer);
}

int pipe_empty(long ms) {
  const Pipe pipe;
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    pipe.put(1);
  });
  report_with(waited_ns([&] { pipe.take(1); }), child);
  return 0;
}

int pipe_full(long ms) {
  const Pipe pipe;
  pipe.put(kPipeBytes);
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    pipe.take(kPipeBytes);
  });
  report_with(waited_ns([&] { pipe.put(1); }), child);
  return 0;
}

/// One child brings data often and soon, another seldom and late: the latter makes the process wait more.
int pipe_two_peers(long ms) {
  const Pipe pipe;
  const pid_t fast = in_child([&] {
    for (int i = 0; i < 10; ++i) {
      sleep_ms(ms / 30);
      pipe.put(1);
    }
  });
  const std::uint64_t brief = waited_ns([&] {
    for (int i = 0; i < 10; ++i) pipe.take(1);
  });
  reap(fast);
  const pid_t slow = in_child([&] {
    sleep_ms(ms);
    pipe.put(1);
  });
  report_with(brief + waited_ns([&] { pipe.take(1); }), slow);
  return 0;
}

/// In memory if possible: a busy file system would be waited for, too.
class Fifo {
 public:
  Fifo() { made_ = ::mkdtemp(folder_.data()) != nullptr && ::mkfifo(path().c_str(), 0600) == 0; }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;
  ~Fifo() {
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  bool made() const { return made_; }
  void open(int flags) const { ::open(path().c_str(), flags | O_CLOEXEC); }

 private:
  std::string path() const { return folder_ + "/fifo"; }
  std::string folder_ = std::string(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/tracer_fifo.XXXXXX";
  bool made_ = false;
};

int fifo(long ms, int parent_flags, int child_flags) {
  const Fifo between;
  if (!between.made()) return 1;
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    between.open(child_flags);
  });
  report_with(waited_ns([&] { between.open(parent_flags); }), child);
  return 0;
}

/// Nobody opens the other end: an alarm ends the wait, which no process wakes.
int fifo_alarm(long ms) {
  const Fifo lonely;
  if (!lonely.made()) return 1;
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &action, nullptr);
  itimerval timer{};
  timer.it_value.tv_usec = ms * 1000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
  report(waited_ns([&] { lonely.open(O_RDONLY); }));
  return 0;
}

/// The reply comes in two halves, of which one is asked for by recv and one by read.
int tcp(long ms) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 1) != 0) return 1;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const pid_t child = in_child([&] {
    const int peer = ::accept(listener, nullptr, nullptr);
    char byte = 0;
    ::recv(peer, &byte, 1, 0);
    for (int half = 0; half < 2; ++half) {
      sleep_ms(ms / 2);
      ::send(peer, &byte, 1, 0);
    }
  });
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(connection, reinterpret_cast<sockaddr*>(&address), size) != 0) return 1;
  char byte = 0;
  ::send(connection, &byte, 1, 0);
  report_with(waited_ns([&] {
                ::recv(connection, &byte, 1, 0);
                [[maybe_unused]] const ssize_t got = ::read(connection, &byte, 1);
              }),
              child);
  return 0;
}

int splice_from_empty(long ms) {
  const Pipe from;
  const Pipe to;
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    from.put(1);
  });
  report_with(waited_ns([&] { ::splice(from.out, nullptr, to.in, nullptr, 1, 0); }), child);
  return 0;
}

int splice_to_full(long ms) {
  const Pipe from;
  const Pipe to;
  from.put(1);
  to.put(kPipeBytes);
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    to.take(kPipeBytes);
  });
  report_with(waited_ns([&] { ::splice(from.out, nullptr, to.in, nullptr, 1, 0); }), child);
  return 0;
}

/// A file goes into a full pipe, which a child empties after `ms`.
int file_into_full(long ms, void (*move)(int file, int pipe)) {
  const int file = ::memfd_create("file", MFD_CLOEXEC);
  const Pipe to;
  to.put(kPipeBytes);
  if (::ftruncate(file, 4096) != 0) return 1;
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    to.take(kPipeBytes);
  });
  report_with(waited_ns([&] { move(file, to.in); }), child);
  return 0;
}

int sendfile_to_full(long ms) {
  return file_into_full(ms, [](int file, int pipe) { ::sendfile(pipe, file, nullptr, 4096); });
}

int file_to_full(long ms) {
  return file_into_full(ms, [](int file, int pipe) { ::splice(file, nullptr, pipe, nullptr, 4096, 0); });
}

int vmsplice_to_full(long ms) {
  return file_into_full(ms, [](int, int pipe) {
    char byte = 0;
    const iovec bytes{&byte, 1};
    ::vmsplice(pipe, &bytes, 1, 0);
  });
}

/// A signal interrupts it; the child that sends that has no end of the pipe.
int pipe_signaled(long ms) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &action, nullptr);
  const Pipe pipe;
  const pid_t child = in_child([ms] {
    sleep_ms(ms);
    ::kill(::getppid(), SIGALRM);
  });
  report_with(waited_ns([&] {
                char byte = 0;
                [[maybe_unused]] const ssize_t got = ::read(pipe.out, &byte, 1);
              }),
              child);
  return 0;
}

/// Answers each question for a file after `ms`, with that there is none; `ms` < 0: never. See linux/fuse.h.
[[noreturn]] void serve_files(int device, long ms) {
  std::vector<char> question(1u << 17);
  while (::read(device, question.data(), question.size()) >= static_cast<ssize_t>(sizeof(fuse_in_header))) {
    fuse_in_header header{};
    std::memcpy(&header, question.data(), sizeof header);
    fuse_init_out begun{};
    fuse_out_header answer{sizeof answer, -ENOSYS, header.unique};
    if (header.opcode == FUSE_INIT) {
      begun.major = FUSE_KERNEL_VERSION;
      begun.minor = 26;
      begun.max_write = 4096;
      answer.len += sizeof begun;
      answer.error = 0;
    } else if (header.opcode == FUSE_LOOKUP) {
      sleep_ms(ms);
      answer.error = -ENOENT;
    }
    const iovec parts[] = {{&answer, sizeof answer}, {&begun, sizeof begun}};
    if (::writev(device, parts, answer.error == 0 ? 2 : 1) < 0) break;
    // What nobody has taken yet can be given up.
    if (ms < 0) ::pause();
  }
  ::_exit(0);
}

/// With a folder whose files a process serves; reports what `use` does, or 0 where the kernel has no such file systems.
int with_served(long ms, const std::function<void(const std::string& folder)>& use) {
  std::string folder = "/tmp/tracer_fuse.XXXXXX";
  const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  const std::string options = "rootmode=40000,user_id=0,group_id=0,fd=" + std::to_string(device);
  const bool mounted = device >= 0 && ::mkdtemp(folder.data()) != nullptr && ::unshare(CLONE_NEWNS) == 0 &&
                       ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("fuse", folder.c_str(), "fuse", 0, options.c_str()) == 0;
  if (!mounted) report(0);
  if (mounted) {
    const pid_t server = in_child([&] { serve_files(device, ms); });
    use(folder);
    ::umount2(folder.c_str(), MNT_DETACH);
    ::kill(server, SIGKILL);
    reap(server);
  }
  ::rmdir(folder.c_str());
  return 0;
}

/// One is opened, and another asked for.
int served_file(long ms) {
  return with_served(ms, [](const std::string& folder) {
    report(waited_ns([&] {
      struct stat status {};
      ::open((folder + "/file").c_str(), O_RDONLY | O_CLOEXEC);
      ::stat((folder + "/other").c_str(), &status);
    }));
  });
}

/// A child waits for one that is never opened, and is killed: reports after how long, and the child.
int unserved_file(long ms) {
  return with_served(-1, [ms](const std::string& folder) {
    const pid_t child = in_child([&folder] { ::open((folder + "/file").c_str(), O_RDONLY | O_CLOEXEC); });
    const std::uint64_t waited = waited_ns([ms] { sleep_ms(ms); });
    ::kill(child, SIGKILL);
    reap(child);
    report(waited);
    report(static_cast<std::uint64_t>(child));
  });
}

}  // namespace

int wait_for_disk(const Arguments& a) {
  const std::string& way = a.at(1);
  const off_t offset = number(a, 3);
  const auto bytes = static_cast<std::size_t>(number(a, 4));
  const int disk = ::open(a.at(2).c_str(), O_RDONLY | O_CLOEXEC | (way == "direct" ? O_DIRECT : 0));
  void* buffer = nullptr;
  if (disk < 0 || ::posix_memalign(&buffer, 4096, bytes) != 0) return 1;
  const auto* mapped =
      static_cast<const volatile char*>(::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, disk, way == "map" ? offset : 0));
  bool good = true;
  const std::uint64_t cpu_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const std::uint64_t elapsed = waited_ns([&] {
    for (std::size_t at = 0; at < bytes; at += 65536) {
      if (way == "map")
        good &= mapped[at] == mapped[at + 65535];
      else
        good &= ::pread(disk, buffer, 65536, offset + static_cast<off_t>(at)) == 65536;
    }
  });
  const std::uint64_t computed = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
  report(elapsed > computed ? elapsed - computed : 0);
  return good ? 0 : 2;
}

int write_much(const Arguments& a) {
  const std::vector<char> block(1u << 20, 'x');
  const int file = ::open(a.at(1).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return 1;
  for (long i = 0; i < number(a, 2); ++i)
    if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size())) return 2;
  return 0;
}

int wait_for_data(const std::string& name, long ms) {
  static const std::map<std::string, std::function<int(long)>> all = {
      {"pipe_empty", pipe_empty},
      {"pipe_full", pipe_full},
      {"pipe_two_peers", pipe_two_peers},
      {"fifo_reader", [](long time) { return fifo(time, O_RDONLY, O_WRONLY); }},
      {"fifo_writer", [](long time) { return fifo(time, O_WRONLY, O_RDONLY); }},
      {"fifo_alarm", fifo_alarm},
      {"tcp", tcp},
      {"splice_from_empty", splice_from_empty},
      {"splice_to_full", splice_to_full},
      {"sendfile_to_full", sendfile_to_full},
      {"splice_file_to_full", file_to_full},
      {"vmsplice_to_full", vmsplice_to_full},
      {"served_file", served_file},
      {"unserved_file", unserved_file},
      {"pipe_signaled", pipe_signaled},
  };
  const auto found = all.find(name);
  return found != all.end() ? found->second(ms) : 96;
}

}  // namespace truth
