// SPDX-License-Identifier: Apache-2.0
/// The family files, against a program whose uses of files are known.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/check.hpp>

#include "capture.hpp"
#include "has_family.hpp"
#include "ledger_expect.hpp"
#include "truth.hpp"

namespace {

/// Removed at the end.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "tracer-files-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = std::filesystem::canonical(path).string();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::map<std::string, tracer::FileUse> uses_below(const Capture& capture, std::uint32_t pid,
                                                  const std::string& folder) {
  std::map<std::string, tracer::FileUse> uses;
  for (const auto& use : capture.all<tracer::FileUse>()) {
    if (use.process->pid != pid) continue;
    const std::string path = use.path.value_or("");
    if (path.starts_with(folder + '/')) {
      CHECK((use.path_at == "close" || (use.path_at == "rename" && use.renames.value_or(0) != 0) ||
             (use.path_at == "delete" && use.deletes.value_or(0) != 0)));
      CHECK(uses.emplace(path.substr(folder.size() + 1), use).second);
    } else if (use.folded) {
      CHECK(uses.emplace('(' + *use.folded + ')', use).second);
    }
  }
  return uses;
}

/// By the one that is mounted last at, or above, the path.
std::string filesystem_of(const std::string& path) {
  std::ifstream mounts("/proc/self/mounts");
  std::string kind;
  std::size_t most = 0;
  std::string device;
  std::string point;
  std::string type;
  std::string rest;
  while (mounts >> device >> point >> type && std::getline(mounts, rest)) {
    const std::string below = point == "/" ? point : point + '/';
    if (point.size() >= most && path.starts_with(below)) {
      most = point.size();
      kind = type;
    }
  }
  return kind;
}

/// What the family files is attached to here.
std::string mechanism() {
  tracer::SessionOptions options;
  options.families = {tracer::Family::kFiles};
  tracer::Session session(options);
  session.start();
  const auto families = session.families();
  session.stop();
  for (const tracer::FamilyState& state : families)
    if (state.family == tracer::Family::kFiles) return state.mechanism;
  return "";
}
bool sees_functions() { return mechanism().starts_with("fentry"); }
bool sees_moves() { return mechanism().find("vfs_rename, vfs_unlink") != std::string::npos; }

struct Expected {
  std::uint64_t opens;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> written_bytes;
  std::optional<std::uint64_t> size_bytes;
  bool created;
};

void check_uses(std::map<std::string, tracer::FileUse> uses, const std::map<std::string, Expected>& expected) {
  for (const auto& [path, each] : expected) {
    const std::string& name = path;
    CAPTURE(name);
    REQUIRE(uses.contains(name));
    const tracer::FileUse& use = uses.at(name);
    CHECK(use.opens == each.opens);
    CHECK(use.read_bytes == each.read_bytes);
    CHECK(use.written_bytes == each.written_bytes);
    CHECK(use.size_bytes == each.size_bytes);
    CHECK(use.created == each.created);
    CHECK_FALSE(use.path_cut);
    uses.erase(name);
  }
  for (const auto& [name, use] : uses) FAIL_CHECK("not used: " << name);
}

}  // namespace

TEST_CASE("each file that a program used is named as it was at its last close, with what is known of it" *
          doctest::test_suite("essential")) {
  const Folder folder;
  const Capture capture = trace(truth::call("use_files", {folder.path()}));
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += std::string(18, static_cast<char>('a' + i % 26)) + '/';
  const std::uint64_t inner = ::geteuid() == 0 ? 3 : 2;
  auto uses = uses_below(capture, static_cast<std::uint32_t>(capture.pid), folder.path());
  // Where its delete is seen, it has a name, but its use has none.
  if (const auto gone = uses.extract("gone"); !gone.empty()) CHECK(gone.mapped().opens == 0);
  // Where its rename is seen, it is called as it was before.
  if (auto held = uses.extract("renamed_while_open"); !held.empty()) {
    CHECK(held.mapped().renamed_to == folder.path() + "/renamed");
    held.key() = "renamed";
    uses.insert(std::move(held));
  }
  check_uses(uses, {
                       // Opened to be made, read twice, read by a link, and once to append.
                       {"absolute", {4, 500, std::nullopt, 1005, true}},
                       // Written, read three times, and mapped.
                       {"relative", {5, std::nullopt, 1000, 1000, true}},
                       {"sub/inner", {inner, 10 * (inner - 1), 10, 10, true}},
                       {"odd\xff\nname", {1, std::nullopt, 3, 3, true}},
                       {"created", {1, std::nullopt, 0, 0, true}},
                       {"both", {1, std::nullopt, std::nullopt, 50, true}},
                       {"(unlinked)", {1, std::nullopt, 9, std::nullopt, true}},
                       {"before", {2, 20, 20, 20, true}},
                       {"renamed", {1, std::nullopt, 30, 30, true}},
                       {deep + "deep", {1, std::nullopt, 7, 7, true}},
                       {"first", {1, std::nullopt, 11, 11, true}},
                       {"second", {1, std::nullopt, 11, 11, true}},
                       {"left", {1, std::nullopt, 60, 60, true}},
                   });
}

TEST_CASE("the first open, the last close and the kind of the file system are known of a file") {
  const Folder folder;
  const Capture capture = trace(truth::call("open_twice", {folder.path() + "/file"}));
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  const auto said = expect::told(capture);
  REQUIRE(said.size() == 4);
  const auto uses = uses_below(capture, static_cast<std::uint32_t>(capture.pid), folder.path());
  REQUIRE(uses.size() == 1);
  const tracer::FileUse& use = uses.begin()->second;
  CHECK(use.opens == 2);
  CHECK(use.filesystem == filesystem_of(folder.path()));
  CHECK(use.last_close_ns >= said[2]);
  CHECK(use.last_close_ns <= said[3]);
  // Only a traced function sees opens.
  if (!sees_functions()) {
    CHECK_FALSE(use.first_open_ns.has_value());
    return;
  }
  REQUIRE(use.first_open_ns.has_value());
  CHECK(*use.first_open_ns >= said[0]);
  CHECK(*use.first_open_ns <= said[1]);
}

TEST_CASE("files that are closed by several threads, and by a child, are counted once each") {
  const Folder folder;
  const Capture capture = trace(truth::call("share_files", {folder.path()}));
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  const auto own = uses_below(capture, static_cast<std::uint32_t>(capture.pid), folder.path());
  REQUIRE(own.size() == 1);
  const tracer::FileUse& use = own.begin()->second;
  CHECK(use.opens == 1002);
  CHECK(use.written_bytes == 100);
  // With what the child has read through an open that it shared.
  CHECK(use.read_bytes == 40 + 1000 * 100);
  CHECK(uses_below(capture, static_cast<std::uint32_t>(capture.reported()), folder.path()).empty());
}

TEST_CASE("which opens began another content, read the one before, or wrote at all") {
  const Folder folder;
  const Capture capture = trace(truth::call("rewrite_files", {folder.path()}));
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  auto uses = uses_below(capture, static_cast<std::uint32_t>(capture.pid), folder.path());
  struct Rewritten {
    const char* name;
    std::optional<std::uint64_t> begun;
    std::optional<bool> read_earlier;
    bool modified;
  };
  using Begun = std::optional<std::uint64_t>;
  // Where opens are not seen, what a child wrote before one counts as well, and any may have emptied the file.
  const bool seen = sees_functions();
  const Begun none = seen ? Begun(0) : std::nullopt;
  const auto earlier = seen ? std::optional(true) : std::nullopt;
  // One that is seen may have emptied the file afterwards, if it has written to the end.
  const Begun to_end = seen ? std::nullopt : Begun(1);
  const Rewritten all[] = {
      {"twice", 2, std::nullopt, true},
      {"own", 1, false, true},
      {"into_itself", 1, true, true},
      {"database", none, earlier, !seen},
      {"changed", none, earlier, true},
      {"appended", 0, std::nullopt, true},
      {"emptied", 1, std::nullopt, true},
      {"in_part", none, std::nullopt, true},
      {"all", to_end, std::nullopt, true},
      {"rewritten", seen ? Begun(1) : std::nullopt, seen ? std::optional(false) : std::nullopt, true},
      {"at_end", to_end, std::nullopt, true},
  };
  for (const Rewritten& each : all) {
    const std::string name = each.name;
    CAPTURE(name);
    REQUIRE(uses.contains(name));
    const tracer::FileUse& use = uses.at(name);
    CHECK(use.contents_begun == each.begun);
    CHECK(use.read_earlier_content == each.read_earlier);
    CHECK(use.modified_meanwhile == each.modified);
    CHECK(use.generation.has_value());
  }
  // One that appends goes to the end when it opens the file.
  const auto looked_at = uses_below(capture, static_cast<std::uint32_t>(capture.reported()), folder.path());
  REQUIRE(looked_at.contains("looked_at"));
  CHECK(looked_at.at("looked_at").modified_meanwhile == false);
  if (!std::filesystem::exists(folder.path() + "/linked")) return;
  REQUIRE(uses.contains("linked"));
  CHECK(uses.at("linked").contents_begun == 1u);
}

TEST_CASE("beyond 8,192 files of a process the rest is folded, and no open is lost") {
  constexpr std::uint64_t kFiles = 10'000;
  constexpr std::uint64_t kOpens = 20'000;
  const Folder folder;
  const Capture capture =
      trace(truth::call("many_files", {folder.path(), std::to_string(kFiles), std::to_string(kOpens)}));
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  const auto uses = uses_below(capture, static_cast<std::uint32_t>(capture.pid), folder.path());
  REQUIRE(uses.contains("(others)"));
  CHECK(uses.size() <= 8193);
  CHECK(uses.size() > 8000);
  CHECK(uses.at("file0").opens == kOpens + 1);
  CHECK(uses.at("file0").read_bytes == kOpens);
  std::uint64_t opens = 0;
  for (const auto& [name, use] : uses) opens += use.opens;
  CHECK(opens >= kFiles + kOpens);
  // What is no test's own, such as a file that the C library reads.
  CHECK(opens <= kFiles + kOpens + 100);
}

namespace {

struct ExpectedMove {
  std::uint64_t opens;
  std::string renamed_to;  ///< Below the folder; empty: it was not renamed.
  std::uint64_t renames;
  std::uint64_t deletes;
  std::uint64_t size_bytes;
};

void check_moves(std::map<std::string, tracer::FileUse> uses, const std::string& folder,
                 const std::map<std::string, ExpectedMove>& expected) {
  for (const auto& [path, each] : expected) {
    const std::string& name = path;
    CAPTURE(name);
    REQUIRE(uses.contains(name));
    const tracer::FileUse& use = uses.at(name);
    CHECK(use.opens == each.opens);
    CHECK(use.renamed_to.value_or("") == (each.renamed_to.empty() ? "" : folder + '/' + each.renamed_to));
    CHECK(use.renames == each.renames);
    CHECK(use.deletes == each.deletes);
    CHECK(use.size_bytes == each.size_bytes);
    uses.erase(name);
  }
  for (const auto& [name, use] : uses) FAIL_CHECK("not used: " << name);
}

}  // namespace

TEST_CASE("renames and deletes are named by what was done with success") {
  const Folder folder;
  const Capture capture = trace(truth::call("move_files", {folder.path()}));
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  const bool seen = sees_moves();
  auto uses = uses_below(capture, static_cast<std::uint32_t>(capture.pid), folder.path());
  const auto by_child = uses_below(capture, static_cast<std::uint32_t>(capture.reported()), folder.path());
  if (!seen) {
    MESSAGE("SKIP: no renames and deletes on this kernel");
    CHECK(by_child.empty());
    CHECK(uses.size() > 10);
    for (const auto& [path, use] : uses) {
      const std::string& name = path;
      CAPTURE(name);
      CHECK(use.opens > 0);
      CHECK_FALSE(use.renames.has_value());
      CHECK_FALSE(use.deletes.has_value());
      CHECK_FALSE(use.renamed_to.has_value());
    }
    return;
  }
  REQUIRE(uses.contains("(unlinked)"));
  CHECK(uses.at("(unlinked)").opens == 1);
  uses.erase("(unlinked)");
  check_moves(std::move(uses), folder.path(),
              {
                  {"a.tmp", {1, "a", 1, 0, 10}},
                  {"old", {1, "", 0, 1, 5}},
                  {"new.tmp", {1, "old", 1, 0, 7}},
                  {"across", {1, "sub/across", 1, 0, 3}},
                  {"sub/at.tmp", {1, "sub/at", 1, 0, 4}},
                  {"twice", {1, "sub/twice.2", 2, 0, 6}},
                  {"left", {1, "right", 1, 0, 1}},
                  {"right", {1, "left", 1, 0, 2}},
                  {"folder/inner", {1, "", 0, 0, 8}},
                  {"gone", {1, "", 0, 1, 9}},
                  {"sub/gone_at", {1, "", 0, 1, 9}},
                  {"one", {1, "", 0, 0, 1}},
                  {"held", {0, "", 0, 1, 9}},
                  {"kept", {1, "", 0, 0, 2}},
                  {"sub/kept", {1, "", 0, 0, 2}},
                  {"child.tmp", {1, "", 0, 0, 4}},
                  {"child.gone", {1, "", 0, 0, 4}},
              });
  check_moves(by_child, folder.path(), {{"child.tmp", {0, "child", 1, 0, 4}}, {"child.gone", {0, "", 0, 1, 4}}});
}

TEST_CASE("each delete is counted, also of files beyond those that are told apart") {
  constexpr std::uint64_t kFiles = 12'000;
  const Folder folder;
  const Capture capture = trace(truth::call("delete_many", {folder.path(), std::to_string(kFiles)}));
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  if (!sees_moves()) {
    MESSAGE("SKIP: no renames and deletes on this kernel");
    return;
  }
  std::uint64_t deletes = 0;
  std::uint64_t opens = 0;
  const auto uses = uses_below(capture, static_cast<std::uint32_t>(capture.pid), folder.path());
  for (const auto& [name, use] : uses) {
    REQUIRE(use.deletes.has_value());
    deletes += *use.deletes;
    opens += use.opens;
  }
  // Where the reader is slow, some find no room in the ring.
  const auto lost = capture.statistics.losses.find("ring_full_file_use");
  const std::uint64_t missing = lost == capture.statistics.losses.end() ? 0 : lost->second;
  CAPTURE(missing);
  CHECK(uses.size() <= 8193);
  CHECK(deletes <= kFiles);
  CHECK(deletes + missing >= kFiles);
  CHECK(opens + missing >= kFiles);
}

TEST_CASE("a kernel that does not show renames and deletes is named by the check, with the reason") {
  const tracer::CheckReport report = tracer::check();
  REQUIRE(report.usable());
  const auto files = std::find_if(report.families.begin(), report.families.end(), [](const tracer::FamilyState& state) {
    return state.family == tracer::Family::kFiles;
  });
  REQUIRE(files != report.families.end());
  if (!files->active) return;
  CAPTURE(files->mechanism);
  CHECK(files->problem.has_value() != sees_moves());
  if (!files->problem) return;
  CHECK(files->problem->what.starts_with("renames and deletes are not seen"));
  CHECK_FALSE(files->problem->fix.empty());
}
