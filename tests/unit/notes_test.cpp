// SPDX-License-Identifier: Apache-2.0
#include "context/note_questions.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "base/folder.hpp"

#include "base/proc_stat.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

Process myself() {
  Process process;
  process.pid = static_cast<std::uint32_t>(::getpid());
  process.start_ns = read_proc_stat(::getpid())->started_from_ns;
  process.uid = ::geteuid();
  return process;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("whether the process lived when its notes were read is known") {
  const TempFile place;
  const std::string note = place.folder() / "note";
  std::ofstream(note) << "one\n";
  const NoteAnswer living = read_notes({note, 10}, myself());
  CHECK(living.lines == Lines{"one"});
  CHECK(living.in_time);
  CHECK(living.whole);
  Process earlier = myself();
  earlier.start_ns -= 1'000'000'000;
  CHECK_FALSE(read_notes({note, 10}, earlier).in_time);
}

TEST_CASE("a file is read below the root of its own process alone") {
  const TempFile place;
  const std::string note = place.folder() / "note";
  std::ofstream(note) << "one\n";
  Process gone = myself();
  gone.pid = 2147483632;
  // What has ended had the host's files only where it was in no container.
  gone.mount_namespace = host_mount_namespace();
  CHECK(read_note_lines({note, 10}, gone).has_value());
  gone.mount_namespace = host_mount_namespace() + 1;
  CHECK_FALSE(read_note_lines({note, 10}, gone).has_value());
  gone.mount_namespace.reset();
  CHECK_FALSE(read_note_lines({note, 10}, gone).has_value());
}

TEST_CASE("what an engine's files say is looked up beside the events, and answered when it is known") {
  constexpr std::string_view kText = R"(schema = 1
[[rule]]
name = "one.task"
exe = ["one"]
begins = "task"
gives = { task = "{task}" }
notes = { file = "/notes", lines = ["name: {task:any}"] }
)";
  const auto rules = std::make_shared<const EngineRules>(EngineRules::parse(kText, "my.toml"));
  REQUIRE(rules->rules().size() == 1);
  const auto go = std::make_shared<std::atomic<bool>>(false);
  NoteQuestions questions(std::make_shared<Accounts>(), [go](const NoteRequest& request, const Process& process) {
    while (process.uid == 1000u && !go->load()) ::usleep(1000);
    return NoteAnswer{.lines = Lines{"x", "name: " + request.path}};
  });
  const auto question_of = [&](uid_t user) {
    NoteQuestion question{rules, &rules->rules().front(), {}, {{"pid", "1"}}, myself()};
    question.process.uid = user;
    return question;
  };
  CHECK_FALSE(questions.ask("alice's", question_of(1000)).has_value());
  std::optional<NoteFindings> bobs;
  for (int n = 0; n < 5000 && !(bobs = questions.ask("bob's", question_of(1001))); ++n) ::usleep(1000);
  REQUIRE(bobs.has_value());
  CHECK(bobs->found);
  CHECK(bobs->captures == Captures{{"pid", "1"}, {"task", "/notes"}});
  CHECK_FALSE(questions.ask("alice's", question_of(1000)).has_value());
  go->store(true);
  std::optional<NoteFindings> alices;
  for (int n = 0; n < 5000 && !(alices = questions.ask("alice's", question_of(1000))); ++n) ::usleep(1000);
  REQUIRE(alices.has_value());
  CHECK(alices->found);
}

TEST_CASE("only regular files of the process's own user are read, and no more than is asked for") {
  const TempFile place;
  const std::filesystem::path& folder = place.folder();
  const std::string note = folder / "note";
  std::ofstream(note) << "one\ntwo\nthree";
  const auto read = [](const std::string& path, std::size_t most = 10) {
    return read_note_lines({path, most}, myself());
  };
  CHECK(read(note) == Lines{"one", "two", "three"});
  CHECK(read(note, 2) == Lines{"one", "two"});
  CHECK_FALSE(read(folder / "gone").has_value());
  std::filesystem::create_symlink(note, folder / "link");
  CHECK_FALSE(read(folder / "link").has_value());
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_FALSE(read(folder / "fifo").has_value());
  CHECK_FALSE(read(folder).has_value());
  CHECK_FALSE(read("/dev/zero").has_value());
  Process other = myself();
  other.uid = ::geteuid() + 1;
  CHECK_FALSE(read_note_lines({note, 10}, other).has_value());
  std::ofstream(folder / "huge") << std::string(1u << 20, 'x') << "\nend\n";
  const auto huge = read(folder / "huge");
  REQUIRE(huge.has_value());
  CHECK(huge->size() == 1);
  CHECK((*huge)[0].size() == kMostNoteBytes);
  const auto end = read_note_lines({folder / "huge", 10, true}, myself());
  REQUIRE(end.has_value());
  CHECK(end->back() == "end");
}
