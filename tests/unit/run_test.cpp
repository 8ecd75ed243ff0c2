// SPDX-License-Identifier: Apache-2.0
#include <tracer/run.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "summed_events.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

int status_of(Command& command) {
  command.release();
  for (;;)
    if (const auto end = command.ended()) return end->wait_status.value();
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ErrorCode code_of(const CommandOptions& options) {
  try {
    Command command(options);
    command.release();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

ErrorCode code_of_open(const std::optional<User>& user, const std::string& path) {
  try {
    ::close(open_as(user, path));
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

User nobody() { return {65534, 65534, {}, "nobody", "/nonexistent"}; }

/// A folder that is removed with all that is in it.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tracer-run-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("a command waits until it is released, and its status is known") {
  const Folder folder;
  Command command({{"sh", "-c", "echo ran > \"$1\"; exit 7", "sh", folder.file("out")}});
  CHECK_FALSE(command.ended().has_value());
  CHECK_FALSE(std::filesystem::exists(folder.file("out")));
  CHECK(WEXITSTATUS(status_of(command)) == 7);
  CHECK(text_of(folder.file("out")) == "ran\n");
  CHECK_FALSE(command.ended().has_value());  // It is told once.
}

TEST_CASE("a command that was never released leaves no process behind") {
  pid_t pid = 0;
  {
    const Command command({{"true"}});
    pid = command.pid();
    CHECK(::kill(pid, 0) == 0);
  }
  CHECK(::kill(pid, 0) == -1);
}

TEST_CASE("a command that was never released ends, though a later one's process holds its channel") {
  CommandOptions options;
  options.argv = {"true"};
  auto first = std::make_unique<Command>(options);
  const Command second(options);
  const pid_t pid = first->pid();
  first.reset();
  CHECK(::kill(pid, 0) == -1);
}

TEST_CASE("one that is killed before it is released does not take the caller with it") {
  Command command({{"true"}});
  command.signal(SIGKILL);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(command.pid()), &info, WEXITED | WNOWAIT) == 0);
  CHECK(WTERMSIG(status_of(command)) == SIGKILL);
}

TEST_CASE("what can't be executed is told when it is released") {
  CHECK(code_of({{}}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({{""}}) == ErrorCode::kCommandNotFound);
  CHECK(code_of({{"/no/such/program"}}) == ErrorCode::kCommandNotFound);
  CHECK(code_of({{"no-such-program-anywhere"}}) == ErrorCode::kCommandNotFound);
  CHECK(code_of({{"/etc/passwd"}}) == ErrorCode::kCommandNotExecutable);
  CHECK(code_of({{"/tmp"}}) == ErrorCode::kCommandNotExecutable);
}

TEST_CASE("a script without an interpreter line runs in the shell, with its arguments") {
  const Folder folder;
  std::ofstream(folder.file("script")) << "echo \"$0 $1 $2\" > \"$3\"\n";
  ::chmod(folder.file("script").c_str(), 0755);
  Command command({{folder.file("script"), "a", "", folder.file("out")}});
  CHECK(status_of(command) == 0);
  CHECK(text_of(folder.file("out")) == folder.file("script") + " a \n");
}

TEST_CASE("prepare runs in the command's process, before it") {
  const Folder folder;
  Command command({{"sh", "-c", "pwd > out"}, {}, [&folder] {
                     if (::chdir(folder.path().c_str()) != 0) ::_exit(9);
                   }});
  CHECK(status_of(command) == 0);
  CHECK(text_of(folder.file("out")) == folder.path() + "\n");
  CHECK(std::filesystem::current_path() != folder.path());
}

TEST_CASE("a command has the environment of its user, and else that of the caller") {
  const Folder folder;
  ::setenv("TRACER_RUN_TEST", "kept", 1);
  User user{::geteuid(), ::getegid(), {}, "somebody", "/home/somebody"};
  if (::geteuid() == 0) user.groups = {0};
  Command command({{"sh", "-c", "echo $USER $LOGNAME $HOME $TRACER_RUN_TEST > \"$1\"; env | grep -c ^HOME= >> \"$1\"",
                    "sh", folder.file("out")},
                   user});
  CHECK(status_of(command) == 0);
  CHECK(text_of(folder.file("out")) == "somebody somebody /home/somebody kept\n1\n");
  CHECK(std::string(std::getenv("HOME") == nullptr ? "" : std::getenv("HOME")) != "/home/somebody");
  ::unsetenv("TRACER_RUN_TEST");
}

TEST_CASE("users are found by name and by number") {
  CHECK(find_user("root").uid == 0);
  CHECK(find_user("0").name == "root");
  CHECK(find_user("root").home == "/root");
  CHECK(find_user("54321").uid == 54321);
  CHECK(find_user("54321").gid == 65534);
  CHECK_THROWS_AS(find_user("no-such-user"), Error);
  CHECK_THROWS_AS(find_user(""), Error);
  CHECK_THROWS_AS(find_user("99999999999"), Error);
}

TEST_CASE("a file is opened without being cut, and its problems are told") {
  const Folder folder;
  std::ofstream(folder.file("old")) << "kept";
  const int fd = open_as({}, folder.file("old"));
  CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  ::close(fd);
  CHECK(text_of(folder.file("old")) == "kept");
  CHECK(code_of_open({}, "/no/such/folder/file") == ErrorCode::kFileUnwritable);
  CHECK(code_of_open({}, folder.path()) == ErrorCode::kFileUnwritable);
}

TEST_CASE("a file of another user is opened with that user's rights only") {
  const Folder folder;
  ::chmod(folder.path().c_str(), 0755);
  if (::geteuid() != 0) {
    CHECK(code_of_open(nobody(), folder.file("x")) == ErrorCode::kPermission);
    return;
  }
  CHECK(code_of_open(nobody(), folder.file("x")) == ErrorCode::kFileUnwritable);
  CHECK_FALSE(std::filesystem::exists(folder.file("x")));
  ::chmod(folder.path().c_str(), 0777);
  const int fd = open_as(nobody(), folder.file("x"));
  CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(::write(fd, "y", 1) == 1);
  struct stat status {};
  REQUIRE(::fstat(fd, &status) == 0);
  CHECK(status.st_uid == 65534);
  ::close(fd);
  CHECK(::geteuid() == 0);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // No helper is left.
}

TEST_CASE("a trace knows the command from the copy of its caller, and when it has ended") {
  CommandTrace trace(7);
  ProcessExec first;
  first.process = build::process({.pid = 7, .argv = {{"sleep", "1"}}});
  first.ended.start_ns = 1;
  ProcessExec other;
  other.process = summed::process_of({.pid = 8});
  CHECK(trace.saw(other));
  CHECK(trace.argv().empty());
  CHECK_FALSE(trace.saw(first));  // What this ends is the copy.
  CHECK(trace.argv() == std::vector<std::string>{"sleep", "1"});
  CHECK(trace.saw(first));
  CHECK_FALSE(trace.ended());
  CHECK(trace.saw(summed::exit_of({.pid = 8})));
  CHECK_FALSE(trace.ended());
  CHECK(trace.saw(summed::exit_of({.pid = 7})));
  CHECK(trace.ended());
}

TEST_CASE("where nothing was of the copy, the first exec is the command's, too") {
  CommandTrace trace(7);
  ProcessExec first;
  first.process = build::process({.pid = 7, .argv = {{"sleep", "1"}}});
  CHECK(trace.saw(first));
  CHECK(trace.argv() == std::vector<std::string>{"sleep", "1"});
}

TEST_CASE("its environment can be given, and its PATH counts") {
  const Folder folder;
  std::ofstream(folder.file("own-command")) << "#!/bin/sh\necho \"$NAME ${HOME-none}\" > \"$1\"\n";
  ::chmod(folder.file("own-command").c_str(), 0755);
  CommandOptions options;
  options.argv = {"own-command", folder.file("out")};
  CHECK(code_of(options) == ErrorCode::kCommandNotFound);
  options.environment = {"NAME=value", "PATH=/nowhere:" + folder.path()};
  Command command(options);
  CHECK(status_of(command) == 0);
  CHECK(text_of(folder.file("out")) == "value none\n");
}

TEST_CASE("one that starts at once runs without release(), which reports what failed") {
  const Folder folder;
  CommandOptions options;
  options.at_once = true;
  options.argv = {"sh", "-c", "echo $NAME > out; exit 7"};
  options.environment = {"NAME=value", "PATH=/usr/bin:/bin"};
  options.prepare = [&folder] {
    if (::chdir(folder.path().c_str()) != 0) ::_exit(9);
  };
  {
    Command command(options);
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(command.pid()), &info, WEXITED | WNOWAIT) == 0);
    CHECK(WEXITSTATUS(status_of(command)) == 7);
    CHECK(text_of(folder.file("out")) == "value\n");
  }
  CommandOptions failing;
  failing.at_once = true;
  failing.argv = {"/no/such/program"};
  CHECK(code_of(failing) == ErrorCode::kCommandNotFound);
  failing.argv = {"/etc/passwd"};
  CHECK(code_of(failing) == ErrorCode::kCommandNotExecutable);
  // Nobody is left to be waited for, reported or not.
  { const Command unreported(failing); }
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("one that starts at once has no handlers of the caller's, and its mask of signals") {
  const Folder folder;
  struct sigaction own {};
  struct sigaction before {};
  own.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &own, &before);
  sigset_t mask;
  sigset_t mask_before;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &mask, &mask_before);
  CommandOptions options;
  options.at_once = true;
  options.argv = {"sh", "-c", "exec cat /proc/self/status > \"$1\"", "sh", folder.file("out")};
  Command command(options);
  CHECK(status_of(command) == 0);
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  CHECK(::sigismember(&now, SIGUSR2) == 1);
  CHECK(::sigismember(&now, SIGTERM) == 0);
  ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  ::sigaction(SIGUSR1, &before, nullptr);
  const std::string status = text_of(folder.file("out"));
  INFO(status);
  CHECK(status.find("SigBlk:\t0000000000000800") != std::string::npos);
  CHECK(status.find("SigCgt:\t0000000000000000") != std::string::npos);
}
