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
#include <vector>

#include <doctest/doctest.h>

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
      CHECK(use.path_at == "close");
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

/// The family files is attached to functions here.
bool sees_functions() {
  tracer::SessionOptions options;
  options.families = {tracer::Family::kFiles};
  tracer::Session session(options);
  session.start();
  const auto families = session.families();
  session.stop();
  return std::any_of(families.begin(), families.end(), [](const tracer::FamilyState& state) {
    return state.family == tracer::Family::kFiles && state.mechanism.starts_with("fentry");
  });
}

struct Expected {
  std::uint64_t opens;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> written_bytes;
  std::optional<std::uint64_t> size_bytes;
  bool created;
};

void check_uses(std::map<std::string, tracer::FileUse> uses, const std::map<std::string, Expected>& expected) {
  for (const auto& [name, each] : expected) {
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
  const auto uses = uses_below(capture, static_cast<std::uint32_t>(capture.pid), folder.path());
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

TEST_CASE("beyond 1,024 files of a process the rest is folded, and no open is lost") {
  constexpr std::uint64_t kFiles = 3000;
  constexpr std::uint64_t kOpens = 20'000;
  const Folder folder;
  const Capture capture =
      trace(truth::call("many_files", {folder.path(), std::to_string(kFiles), std::to_string(kOpens)}));
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  const auto uses = uses_below(capture, static_cast<std::uint32_t>(capture.pid), folder.path());
  REQUIRE(uses.contains("(others)"));
  CHECK(uses.size() <= 1025);
  CHECK(uses.size() > 1000);
  CHECK(uses.at("file0").opens == kOpens + 1);
  CHECK(uses.at("file0").read_bytes == kOpens);
  std::uint64_t opens = 0;
  for (const auto& [name, use] : uses) opens += use.opens;
  CHECK(opens >= kFiles + kOpens);
  // What is no test's own, such as a file that the C library reads.
  CHECK(opens <= kFiles + kOpens + 100);
}
