// SPDX-License-Identifier: Apache-2.0
/// Users beside each other, and programs that act as several.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "has_family.hpp"
#include "truth.hpp"

namespace {

constexpr std::uint32_t kOther = 30'001;
constexpr std::uint32_t kGreedy = 30'002;
constexpr std::uint32_t kModest = 30'003;

/// That anybody may write to; removed at the end.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "tracer-users-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = std::filesystem::canonical(path).string();
    REQUIRE(::chmod(path_.c_str(), 0777) == 0);
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

tracer::SessionOptions with_large_ring() {
  tracer::SessionOptions options;
  options.ring_bytes = 64u << 20;
  return options;
}

}  // namespace

TEST_CASE("uses of files and peers have the user that the process acted as") {
  const Folder folder;
  const Capture capture = trace(truth::call("act_as_users", {folder.path(), std::to_string(kOther)}));
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  const std::map<std::string, std::uint32_t> expected{{"1", 0}, {"2", kOther}, {"3", kOther}, {"4", 0}, {"5", kOther}};
  std::map<std::string, std::uint32_t> users;
  for (const auto& use : capture.all<tracer::FileUse>())
    if (use.path && use.path->starts_with(folder.path() + '/'))
      CHECK(users.emplace(use.path->substr(folder.path().size() + 1), use.euid.value()).second);
  CHECK(users == expected);
  if (!has_family(capture, "network")) return;
  users.clear();
  for (const auto& each : capture.all<tracer::Connection>())
    if (each.remote_address && each.remote_address->starts_with("127.3.0."))
      CHECK(users.emplace(each.remote_address->substr(8), each.euid.value()).second);
  CHECK(users == expected);
  CHECK(capture.exit().process->program->exec_euid == 0u);
}

TEST_CASE("a user who takes the room for peers leaves others theirs" * doctest::test_suite("native")) {
  constexpr std::uint64_t kPrograms = 15;
  constexpr std::uint64_t kPeers = 1000;
  constexpr std::uint64_t kFew = 200;
  const Capture capture =
      trace(truth::call("peers_of_users", {std::to_string(kGreedy), std::to_string(kPrograms), std::to_string(kPeers),
                                           std::to_string(kModest), std::to_string(kFew)}),
            with_large_ring());
  if (!has_family(capture, "network")) return;
  REQUIRE(capture.status == 0);
  std::uint64_t few = 0;
  std::uint64_t sent = 0;
  std::uint64_t told_apart = 0;
  for (const auto& each : capture.all<tracer::Connection>()) {
    if (each.process->pid == capture.reported()) few += each.folded ? 0 : 1;
    if (each.process->pid == capture.reported()) continue;
    sent += each.sent_bytes;
    told_apart += each.folded ? 0 : 1;
  }
  CHECK(few == kFew);
  CHECK(sent == kPrograms * kPeers);
  CHECK(told_apart > kPrograms * kPeers / 2);
  CHECK(told_apart < kPrograms * kPeers);
  // Counted, and nothing else is lost.
  REQUIRE(capture.statistics.losses.contains("peer_table_full"));
  CHECK(capture.statistics.lost() == capture.statistics.losses.at("peer_table_full"));
}

TEST_CASE("a user who takes the room for files leaves others theirs" * doctest::test_suite("native")) {
  constexpr std::uint64_t kPrograms = 30;
  constexpr std::uint64_t kFiles = 1000;
  constexpr std::uint64_t kFew = 200;
  const Folder folder;
  const Capture capture =
      trace(truth::call("files_of_users", {folder.path(), std::to_string(kGreedy), std::to_string(kPrograms),
                                           std::to_string(kFiles), std::to_string(kModest), std::to_string(kFew)}),
            with_large_ring());
  if (!has_family(capture, "files")) return;
  REQUIRE(capture.status == 0);
  std::uint64_t few = 0;
  std::uint64_t opens = 0;
  std::uint64_t told_apart = 0;
  for (const auto& use : capture.all<tracer::FileUse>()) {
    const std::string path = use.path.value_or("");
    if (path.starts_with(folder.path() + "/modest")) ++few;
    if (path.starts_with(folder.path() + "/greedy")) ++told_apart;
    if (path.starts_with(folder.path() + "/greedy") || (use.folded && use.process->pid != capture.reported()))
      opens += use.opens;
  }
  CHECK(few == kFew);
  CHECK(told_apart > 0);
  CHECK(told_apart < kPrograms * kFiles);
  CHECK(opens >= kPrograms * kFiles);
  // Counted, and nothing else is lost.
  REQUIRE(capture.statistics.losses.contains("file_table_full"));
  CHECK(capture.statistics.lost() == capture.statistics.losses.at("file_table_full"));
}
