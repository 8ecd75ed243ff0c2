// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/explain.hpp>

#include "temp_file.hpp"

using namespace tracer;

namespace {

/// A process that waits, with these arguments; gone with this object.
class Sleeper {
 public:
  explicit Sleeper(const char* argument) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::execl("/bin/sh", "sh", "-c", "kill -STOP $$; true", "program", "--lab-word", argument, nullptr);
    ::_exit(127);
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  std::vector<std::string> argv(const ResolveOptions& options) const {
    for (int n = 0; n < 5000; ++n) {
      const Process process = resolve_process(pid_, options);
      const auto& argv = process.program->argv;
      if (argv && !argv->empty() && argv->front() == "sh") return *argv;
      ::usleep(1000);
    }
    return {};
  }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("a process is resolved with the caller's own rules for secrets") {
  const TempFile place;
  const std::string secrets = place.folder() / "secrets.toml";
  std::ofstream(secrets) << R"(schema = 1
[[option]]
programs = ["*"]
names = ["--lab-word"]
)";
  const Sleeper sleeper("open-sesame");
  CHECK(sleeper.argv({}).back() == "open-sesame");
  CHECK(sleeper.argv({.secret_rules = secrets}).back() != "open-sesame");
  CHECK(sleeper.argv({.secret_rules = secrets, .mask_secrets = false}).back() == "open-sesame");
  CHECK_THROWS_AS(sleeper.argv({.secret_rules = place.folder() / "gone"}), Error);
}

TEST_CASE("a process is resolved with the caller's own rules for tools") {
  const TempFile place;
  const std::string tools = place.folder() / "tools.toml";
  std::ofstream(tools) << "schema = 1\n[[tool]]\nname = \"our shell\"\nexe = [\"sh\", \"dash\", \"bash\"]\n";
  const Sleeper sleeper("x");
  REQUIRE_FALSE(sleeper.argv({}).empty());
  const Process self = resolve_process(::getpid());
  CHECK(self.program->tool == "unit_tests");
  CHECK_THROWS_AS(resolve_process(::getpid(), {.tool_rules = place.folder() / "gone"}), Error);
}
