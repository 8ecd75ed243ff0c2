// SPDX-License-Identifier: Apache-2.0
#include "truth_files.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "truth_tools.hpp"

namespace truth {
namespace {

const std::string kBytes(1000, 'x');

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(3);
}

int opened(int fd, const char* what) {
  if (fd < 0) give_up(what);
  return fd;
}

void put(int fd, std::size_t bytes) {
  if (::write(fd, kBytes.data(), bytes) != static_cast<ssize_t>(bytes)) give_up("write");
}

void make(const std::string& path, std::size_t bytes) {
  const int fd = opened(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), path.c_str());
  put(fd, bytes);
  ::close(fd);
}

void get(int fd, std::size_t bytes) {
  std::vector<char> room(bytes);
  if (::read(fd, room.data(), bytes) < 0) give_up("read");
}

void read_at(int folder, const char* path, std::size_t bytes, int flags = O_RDONLY) {
  const int fd = opened(::openat(folder, path, flags), path);
  get(fd, bytes);
  ::close(fd);
}

int folder_at(int above, const std::string& name) {
  if (::mkdirat(above, name.c_str(), 0700) != 0) give_up(name.c_str());
  return opened(::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY), name.c_str());
}

/// 48 components below the folder, and a path of up to 1,000 bytes.
void make_deep(const std::string& folder) {
  int at = opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY), "folder");
  for (int i = 0; i < 40; ++i) {
    const int next = folder_at(at, std::string(18, static_cast<char>('a' + i % 26)));
    ::close(at);
    at = next;
  }
  const int fd = opened(::openat(at, "deep", O_WRONLY | O_CREAT, 0600), "deep");
  put(fd, 7);
  ::close(fd);
  ::close(at);
}

void use_by_names(const std::string& folder) {
  read_at(AT_FDCWD, (folder + "/absolute").c_str(), 400);
  if (::chdir(folder.c_str()) != 0) give_up("chdir");
  read_at(AT_FDCWD, "relative", 1000);
  if (::mkdir("sub", 0700) != 0 || ::chdir("sub") != 0) give_up("sub");
  make("inner", 10);
  read_at(AT_FDCWD, "../relative", 1000);
  if (::chdir("..") != 0) give_up("..");
  const int at = opened(::open("sub", O_RDONLY | O_DIRECTORY), "sub");
  read_at(at, "inner", 10);
  ::close(at);
  if (::symlink("absolute", "link") != 0) give_up("symlink");
  read_at(AT_FDCWD, "link", 100);
  make("odd\xff\nname", 3);
  ::close(opened(::creat("created", 0600), "creat"));
  open_how how{};
  how.flags = O_RDONLY;
  const long fd = ::syscall(SYS_openat2, AT_FDCWD, "relative", &how, sizeof how);
  if (fd >= 0) {
    get(static_cast<int>(fd), 1000);
    ::close(static_cast<int>(fd));
  } else {
    read_at(AT_FDCWD, "relative", 1000);
  }
}

void use_in_other_ways() {
  const int both = opened(::open("both", O_RDWR | O_CREAT, 0600), "both");
  put(both, 50);
  ::close(both);
  const int end = opened(::open("absolute", O_WRONLY | O_APPEND), "append");
  put(end, 5);
  ::close(end);
  const int mapped = opened(::open("relative", O_RDONLY), "mapped");
  void* const memory = ::mmap(nullptr, 1000, PROT_READ, MAP_PRIVATE, mapped, 0);
  if (memory == MAP_FAILED) give_up("mmap");
  ::munmap(memory, 1000);
  ::close(mapped);
  const int gone = opened(::open("gone", O_WRONLY | O_CREAT, 0600), "gone");
  put(gone, 9);
  ::unlink("gone");
  ::close(gone);
  make("before", 20);
  if (::rename("before", "after") != 0) give_up("rename");
  read_at(AT_FDCWD, "after", 20);
  const int held = opened(::open("renamed_while_open", O_WRONLY | O_CREAT, 0600), "held");
  put(held, 30);
  if (::rename("renamed_while_open", "renamed") != 0) give_up("rename");
  ::close(held);
  if (::open("not_there", O_RDONLY) >= 0) give_up("not_there");
  // None of these is a file that anybody could open by a path.
  ::close(opened(::memfd_create("memory", 0), "memfd"));
  ::close(opened(::eventfd(0, 0), "eventfd"));
  ::close(opened(::epoll_create1(0), "epoll"));
  ::munmap(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 4096);
  // The same number may be given again: two files all the same.
  for (const char* name : {"first", "second"}) {
    make(name, 11);
    ::unlink(name);
  }
  ::close(opened(::open("/proc/self/stat", O_RDONLY), "stat"));
  ::close(opened(::open(".", O_RDONLY | O_DIRECTORY), "."));
}

}  // namespace

int use_files(const Arguments& arguments) {
  const std::string& folder = arguments.at(0);
  make(folder + "/absolute", 1000);
  make(folder + "/relative", 1000);
  use_by_names(folder);
  use_in_other_ways();
  make_deep(folder);
  // It is closed by the end.
  const int left = opened(::open("left", O_WRONLY | O_CREAT, 0600), "left");
  put(left, 60);
  if (::geteuid() != 0) return 0;
  if (::chroot((folder + "/sub").c_str()) != 0 || ::chdir("/") != 0) give_up("chroot");
  read_at(AT_FDCWD, "/inner", 10);
  return 0;
}

int open_twice(const Arguments& arguments) {
  const std::string& path = arguments.at(0);
  const timespec pause{0, 20'000'000};
  report(clock_ns(CLOCK_BOOTTIME));
  const int first = opened(::open(path.c_str(), O_WRONLY | O_CREAT, 0600), path.c_str());
  report(clock_ns(CLOCK_BOOTTIME));
  ::nanosleep(&pause, nullptr);
  const int second = opened(::open(path.c_str(), O_RDONLY), path.c_str());
  put(first, 10);
  ::nanosleep(&pause, nullptr);
  ::close(second);
  ::nanosleep(&pause, nullptr);
  report(clock_ns(CLOCK_BOOTTIME));
  ::close(first);
  report(clock_ns(CLOCK_BOOTTIME));
  return 0;
}

namespace {

/// From a folder to a folder; AT_FDCWD: by a path, or relative to the own folder.
void move(int from_folder, const std::string& from, int to_folder, const std::string& to, unsigned flags = 0) {
  if (::syscall(SYS_renameat2, from_folder, from.c_str(), to_folder, to.c_str(), flags) != 0) give_up(from.c_str());
}

void remove(int folder, const std::string& path) {
  if (::unlinkat(folder, path.c_str(), 0) != 0) give_up(path.c_str());
}

void rename_by_names(const std::string& folder, int sub) {
  make("a.tmp", 10);
  if (::rename((folder + "/a.tmp").c_str(), (folder + "/a").c_str()) != 0) give_up("a");
  make("old", 5);
  make("new.tmp", 7);
  move(AT_FDCWD, "new.tmp", AT_FDCWD, "old");
  make("across", 3);
  move(AT_FDCWD, "across", AT_FDCWD, "sub/across");
  make("sub/at.tmp", 4);
  move(sub, "at.tmp", sub, "at", RENAME_NOREPLACE);
  make("twice", 6);
  move(AT_FDCWD, "twice", sub, "twice.1");
  move(sub, "twice.1", sub, "twice.2");
  make("left", 1);
  make("right", 2);
  move(AT_FDCWD, "left", AT_FDCWD, "right", RENAME_EXCHANGE);
  // A folder is no file, whatever is in it.
  if (::mkdir("folder", 0700) != 0) give_up("folder");
  make("folder/inner", 8);
  move(AT_FDCWD, "folder", AT_FDCWD, "moved");
}

void delete_by_names(int sub) {
  make("gone", 9);
  remove(AT_FDCWD, "gone");
  make("sub/gone_at", 9);
  remove(sub, "gone_at");
  make("one", 1);
  if (::link("one", "two") != 0) give_up("link");
  remove(AT_FDCWD, "one");
  const int held = opened(::open("held", O_WRONLY | O_CREAT, 0600), "held");
  put(held, 9);
  remove(AT_FDCWD, "held");
  ::close(held);
  if (::symlink("a", "link") != 0) give_up("symlink");
  remove(AT_FDCWD, "link");
}

/// Refused before anything is done, and only by the file system's rules.
void try_in_vain(int sub) {
  make("kept", 2);
  make("sub/kept", 2);
  if (::rename("kept", "no_such/x") == 0 || ::rename("kept", "sub") == 0) give_up("a folder was replaced");
  if (::renameat2(AT_FDCWD, "kept", sub, "kept", RENAME_NOREPLACE) == 0) give_up("a file was replaced");
  if (::unlink("no_such") == 0 || ::unlink("sub") == 0) give_up("a folder was deleted");
  if (::link("kept", "kept.2") != 0 || ::rename("kept", "kept.2") != 0 || ::access("kept", F_OK) != 0)
    give_up("one of two names of one file");
  if (::geteuid() != 0) return;
  constexpr uid_t kNobody = 65534;
  if (::seteuid(kNobody) != 0) give_up("seteuid");
  if (::unlinkat(sub, "kept", 0) == 0 || ::renameat(sub, "kept", sub, "x") == 0) give_up("without rights");
  if (::seteuid(0) != 0) give_up("seteuid");
}

}  // namespace

int move_files(const Arguments& arguments) {
  const std::string& folder = arguments.at(0);
  if (::chdir(folder.c_str()) != 0 || ::mkdir("sub", 0755) != 0) give_up("sub");
  const int sub = opened(::open("sub", O_RDONLY | O_DIRECTORY), "sub");
  rename_by_names(folder, sub);
  delete_by_names(sub);
  try_in_vain(sub);
  make("child.tmp", 4);
  make("child.gone", 4);
  const pid_t child = ::fork();
  if (child == 0) {
    move(AT_FDCWD, "child.tmp", AT_FDCWD, "child");
    remove(AT_FDCWD, "child.gone");
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  report(static_cast<std::uint64_t>(child));
  return status;
}

int delete_many(const Arguments& arguments) {
  if (::chdir(arguments.at(0).c_str()) != 0) give_up("chdir");
  for (long i = 0; i < number(arguments, 1); ++i) {
    const std::string name = std::to_string(i);
    make(name, 1);
    remove(AT_FDCWD, name);
  }
  return 0;
}

int rewrite_files(const Arguments& arguments) {
  if (::chdir(arguments.at(0).c_str()) != 0) give_up("chdir");
  const pid_t child = ::fork();
  if (child == 0) {
    for (const char* name : {"into_itself", "database", "changed", "appended", "emptied", "in_part", "all", "rewritten",
                             "at_end", "looked_at"})
      make(name, 1000);
    ::_exit(0);
  }
  if (child < 0 || ::waitpid(child, nullptr, 0) != child) give_up("child");
  // The kernel keeps the time of a change by its ticks.
  ::usleep(50'000);
  const pid_t appender = ::fork();
  if (appender == 0) {
    const int fd = opened(::open("looked_at", O_WRONLY | O_APPEND), "looked_at");
    ::lseek(fd, 0, SEEK_END);
    ::close(fd);
    ::_exit(0);
  }
  if (appender < 0 || ::waitpid(appender, nullptr, 0) != appender) give_up("child");
  report(static_cast<std::uint64_t>(appender));
  make("twice", 100);
  make("twice", 200);
  make("own", 100);
  read_at(AT_FDCWD, "own", 100);
  read_at(AT_FDCWD, "into_itself", 1000);
  make("into_itself", 500);
  const auto use = [](const char* name, int flags, const auto& body) {
    const int fd = opened(::open(name, flags, 0600), name);
    body(fd);
    ::close(fd);
  };
  use("database", O_RDWR, [](int fd) {
    char byte = 0;
    if (::pread(fd, &byte, 1, 10) != 1) give_up("pread");
  });
  use("changed", O_RDWR, [](int fd) {
    ::usleep(50'000);
    if (::pwrite(fd, kBytes.data(), 10, 20) != 10) give_up("pwrite");
  });
  use("appended", O_WRONLY | O_APPEND, [](int fd) { put(fd, 10); });
  use("emptied", O_WRONLY | O_TRUNC, [](int) {});
  use("in_part", O_WRONLY, [](int fd) { put(fd, 10); });
  use("all", O_WRONLY, [](int fd) { put(fd, 1000); });
  use("rewritten", O_RDWR | O_TRUNC, [](int fd) { put(fd, 1000); });
  use("at_end", O_WRONLY, [](int fd) {
    ::lseek(fd, 900, SEEK_SET);
    put(fd, 100);
  });
  const int fd = ::open(".", O_TMPFILE | O_WRONLY, 0600);
  if (fd < 0) return 0;
  put(fd, 300);
  const std::string unnamed = "/proc/self/fd/" + std::to_string(fd);
  if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, "linked", AT_SYMLINK_FOLLOW) != 0) give_up("linkat");
  ::close(fd);
  return 0;
}

int many_files(const Arguments& arguments) {
  const std::string& folder = arguments.at(0);
  for (long i = 0; i < number(arguments, 1); ++i) make(folder + "/file" + std::to_string(i), 1);
  for (long i = 0; i < number(arguments, 2); ++i) read_at(AT_FDCWD, (folder + "/file0").c_str(), 1);
  return 0;
}

int share_files(const Arguments& arguments) {
  if (::chdir(arguments.at(0).c_str()) != 0) give_up("chdir");
  make("shared", 100);
  const int shared = opened(::open("shared", O_RDONLY), "shared");
  const pid_t child = ::fork();
  if (child == 0) {
    get(shared, 40);
    ::close(shared);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  // Only now is it closed for the last time, by the parent, behind what the child has read.
  ::close(shared);
  const auto reads = [] {
    for (int i = 0; i < 500; ++i) read_at(AT_FDCWD, "shared", 100);
  };
  std::thread first(reads);
  std::thread second(reads);
  first.join();
  second.join();
  report(static_cast<std::uint64_t>(child));
  return status;
}

}  // namespace truth
