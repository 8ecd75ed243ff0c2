// SPDX-License-Identifier: Apache-2.0
/// What an owner gets of what was done with another user's rights.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "base/user_ids.hpp"
#include "serve/for_others.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr uid_t kAlice = 1000;
constexpr uid_t kHerSubordinate = 100'005;
const Owner kOfAlice{Audience::kOwner, kAlice};

const Ownership& ownership() {
  static const Ownership of_all(UserIds({{kAlice, 100'000, 65536}}));
  return of_all;
}

std::shared_ptr<const Program> program_of(std::optional<std::uint32_t> euid) {
  auto program = std::make_shared<Program>();
  program->exe = "/secret/bin/tool";
  program->cwd = "/secret";
  program->argv = std::vector<std::string>{"/secret/bin/tool", "word"};
  program->exec_euid = euid;
  return program;
}

std::shared_ptr<const Process> process_of(uid_t uid, std::optional<std::uint32_t> exec_euid) {
  auto process = std::make_shared<Process>();
  process->pid = 1;
  process->uid = uid;
  process->program = program_of(exec_euid);
  return process;
}

FileUse use_of(std::optional<std::uint32_t> euid) {
  FileUse use;
  use.process = process_of(kAlice, kAlice);
  use.path = use.renamed_to = "/secret/file";
  use.device = use.inode = use.size_bytes = 5;
  use.opens = 3;
  use.euid = euid;
  return use;
}

template <class E>
E seen(const E& event) {
  return *for_owner(Event(event), kOfAlice, ownership()).get_if<E>();
}

bool is_whole(const Program& program) { return program.exe && program.cwd && program.argv->back() == "word"; }
bool is_hidden(const Program& program) {
  return !program.exe && !program.cwd && *program.argv == std::vector<std::string>{"tool", "***"};
}

}  // namespace

TEST_CASE("uses as another user have no path, and their sums stay") {
  for (const std::uint32_t own : {kAlice, kHerSubordinate}) {
    const FileUse use = seen(use_of(own));
    CHECK(use.path == "/secret/file");
    CHECK(use.inode == 5u);
    CHECK_FALSE(use.folded.has_value());
  }
  for (const std::optional<std::uint32_t> euid :
       {std::optional<std::uint32_t>(0), std::optional<std::uint32_t>(1001), std::optional<std::uint32_t>()}) {
    const FileUse use = seen(use_of(euid));
    CHECK_FALSE(use.path.has_value());
    CHECK_FALSE(use.renamed_to.has_value());
    CHECK_FALSE(use.device.has_value());
    CHECK_FALSE(use.inode.has_value());
    CHECK_FALSE(use.size_bytes.has_value());
    CHECK(use.folded == "others");
    CHECK(use.opens == 3);
    CHECK(is_whole(*use.process->program));
  }
  CHECK(for_owner(Event(use_of(0)), {Audience::kRoot, 0}, ownership()).get_if<FileUse>()->path == "/secret/file");
}

TEST_CASE("peers as another user have no address") {
  Connection connection;
  connection.process = process_of(kAlice, kAlice);
  connection.remote_address = connection.local_address = "10.0.0.1";
  connection.remote_port = 443;
  connection.sent_bytes = 9;
  connection.euid = kAlice;
  CHECK(seen(connection).remote_address == "10.0.0.1");
  connection.euid = 0;
  const Connection hidden = seen(connection);
  CHECK_FALSE(hidden.remote_address.has_value());
  CHECK_FALSE(hidden.local_address.has_value());
  CHECK_FALSE(hidden.remote_port.has_value());
  CHECK(hidden.folded == "others");
  CHECK(hidden.sent_bytes == 9);
}

TEST_CASE("a program that was executed as another user has no paths, and the next one has") {
  ProcessExec exec;
  exec.process = process_of(kAlice, kAlice);
  exec.ended.program = program_of(0);
  ProcessExec got = seen(exec);
  CHECK(is_whole(*got.process->program));
  CHECK(is_hidden(*got.ended.program));
  exec.process = process_of(kAlice, 0);
  exec.ended.program = program_of(kAlice);
  got = seen(exec);
  CHECK(is_hidden(*got.process->program));
  CHECK(is_whole(*got.ended.program));
  // Nobody knows as whom it was executed: an earlier version did not say.
  exec.process = process_of(kAlice, {});
  CHECK(is_whole(*seen(exec).process->program));
  // A root's process that belongs to her, as below sudo.
  exec.process = process_of(0, 0);
  CHECK(is_hidden(*seen(exec).process->program));
}

TEST_CASE("the name of a file that another program's sample shows is its owner's") {
  ProcessSample sample;
  sample.process = process_of(kAlice, kAlice);
  sample.progress = Progress{"file.bam", 1, 2, {}, {}};
  CHECK(seen(sample).progress.has_value());
  sample.process = process_of(kAlice, 0);
  CHECK_FALSE(seen(sample).progress.has_value());
}

TEST_CASE("a finding that names a file of another user's use does so for root only") {
  Finding finding;
  finding.code = "read_again";
  finding.evidence = {{"path", {}, {}, "/secret/file"}, {"times", 3, "count", {}}};
  finding.text = "task t read /secret/file 3 times over";
  finding.advice = "copy /secret/file";
  CHECK(seen(finding).text == finding.text);
  finding.evidence.push_back({"euid", kHerSubordinate, {}, {}});
  CHECK(seen(finding).text == finding.text);
  finding.evidence.back().value = 0;
  const Finding hidden = seen(finding);
  CHECK(hidden.text == "task t read *** 3 times over");
  CHECK(hidden.advice == "copy ***");
  CHECK(hidden.evidence[0].text == "***");
  CHECK(hidden.evidence[1].value == 3u);
}
