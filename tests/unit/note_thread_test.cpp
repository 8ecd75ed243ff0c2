// SPDX-License-Identifier: Apache-2.0
#include "context/note_thread.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <doctest/doctest.h>

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

TEST_CASE("what can be read is answered, and whether whom it was read for was still there") {
  NoteThread notes([](const NoteRequest& request, const Process&) { return Lines{request.path}; });
  const auto answer_for = [&](const Process& process, const std::string& path) {
    NoteAnswer answer;
    for (int n = 0; n < 5000 && (answer = notes.ask("t1", {path, 10}, process)).pending; ++n) ::usleep(1000);
    return answer;
  };
  const NoteAnswer living = answer_for(myself(), "/a");
  CHECK(living.lines == Lines{"/a"});
  CHECK(living.in_time);
  Process earlier = myself();
  earlier.start_ns -= 1'000'000'000;
  const NoteAnswer late = answer_for(earlier, "/b");
  CHECK(late.lines == Lines{"/b"});
  CHECK_FALSE(late.in_time);
}

TEST_CASE("a file that hangs holds up nobody, and is answered when it can be read") {
  const auto go = std::make_shared<std::atomic<bool>>(false);
  NoteThread notes([go](const NoteRequest& request, const Process&) {
    while (request.path == "/hangs" && !go->load()) ::usleep(1000);
    return Lines{request.path};
  });
  CHECK(notes.ask("t1", {"/hangs", 10}, myself()).pending);
  CHECK(notes.ask("t1", {"/other", 10}, myself()).pending);
  CHECK(notes.ask("t1", {"/hangs", 10}, myself()).pending);
  go->store(true);
  NoteAnswer answer;
  for (int n = 0; n < 5000 && (answer = notes.ask("t1", {"/other", 10}, myself())).pending; ++n) ::usleep(1000);
  CHECK(answer.lines == Lines{"/other"});
  CHECK(notes.ask("t1", {"/hangs", 10}, myself()).lines == Lines{"/hangs"});
}

TEST_CASE("a user's file that hangs holds up that user alone") {
  const auto go = std::make_shared<std::atomic<bool>>(false);
  NoteThread notes([go](const NoteRequest& request, const Process&) {
    while (request.path == "/hangs" && !go->load()) ::usleep(1000);
    return Lines{request.path};
  });
  Process alices = myself();
  alices.uid = 1000;
  Process bobs = myself();
  bobs.uid = 1001;
  CHECK(notes.ask("t1", {"/hangs", 10}, alices).pending);
  for (std::size_t n = 0; n < NoteThread::kMostRequestsOfUser; ++n) notes.ask("t1", {std::to_string(n), 10}, alices);
  CHECK_FALSE(notes.ask("t1", {"one more", 10}, alices).pending);
  NoteAnswer answer;
  for (int n = 0; n < 5000 && (answer = notes.ask("t2", {"/bobs", 10}, bobs)).pending; ++n) ::usleep(1000);
  CHECK(answer.lines == Lines{"/bobs"});
  CHECK(notes.ask("t1", {"/hangs", 10}, alices).pending);
  go->store(true);
}

TEST_CASE("the end does not wait for a file that hangs") {
  const auto go = std::make_shared<std::atomic<bool>>(false);
  {
    NoteThread notes([go](const NoteRequest&, const Process&) {
      while (!go->load()) ::usleep(1000);
      return Lines();
    });
    CHECK(notes.ask("t1", {"/hangs", 10}, myself()).pending);
  }
  go->store(true);
}

TEST_CASE("questions without an end are answered with nothing") {
  const auto go = std::make_shared<std::atomic<bool>>(false);
  NoteThread notes([go](const NoteRequest&, const Process&) {
    while (!go->load()) ::usleep(1000);
    return Lines();
  });
  for (std::size_t n = 0; n < NoteThread::kMostRequestsOfUser; ++n)
    CHECK(notes.ask("t1", {std::to_string(n), 10}, myself()).pending);
  CHECK_FALSE(notes.ask("t1", {"one more", 10}, myself()).pending);
  go->store(true);
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
