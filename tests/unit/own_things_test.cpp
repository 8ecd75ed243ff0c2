// SPDX-License-Identifier: Apache-2.0
/// What an announcement is judged by: what was opened, and nothing that its path may lead to later.
#include "serve/own_things.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

#include "context/announcements.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr uid_t kUser = 12345;

bool is_root() {
  if (::geteuid() == 0) return true;
  MESSAGE("SKIP: needs root, to give folders away");
  return false;
}

}  // namespace

TEST_CASE("a folder is judged once: what its path leads to afterwards changes no answer") {
  if (!is_root()) return;
  const TempFile file;
  const std::filesystem::path own = file.folder() / "own";
  std::filesystem::create_directory(own);
  REQUIRE(::chown(own.c_str(), kUser, kUser) == 0);
  REQUIRE(::chmod(file.folder().c_str(), 0755) == 0);
  const Peer peer{kUser, 1, {}, false};
  const auto judged = require_own(peer, InWorkDir{own.string()});
  REQUIRE(judged.has_value());
  const auto folder = folder_at(own);
  std::filesystem::rename(own, file.folder() / "away");
  Announcement announcement{InWorkDir{own.string()}, {}};
  announcement.context.task = "t";
  const Caller caller{1, 1, kUser};
  std::filesystem::create_directory_symlink("/root", own);
  const Announced of_link = checked(announcement, caller, judged);
  REQUIRE(of_link.folder.has_value() == folder.has_value());
  if (folder) CHECK(is_same(*of_link.folder, *folder));
  std::filesystem::remove(own);
  std::filesystem::create_directory_symlink("/not-there", own);
  CHECK(checked(announcement, caller, judged).key == of_link.key);
  std::filesystem::remove(own);
}

TEST_CASE("a folder that is not there yet has no number, whatever is made in its place") {
  if (!is_root()) return;
  const TempFile file;
  REQUIRE(::chown(file.folder().c_str(), kUser, kUser) == 0);
  const Peer peer{kUser, 1, {}, false};
  const auto judged = require_own(peer, InWorkDir{(file.folder() / "later").string()});
  REQUIRE(judged.has_value());
  CHECK_FALSE(judged->folder.has_value());
}

TEST_CASE("a cgroup's path leads to nothing outside of its hierarchy") {
  if (!is_root()) return;
  const TempFile file;
  REQUIRE(::chown(file.folder().c_str(), kUser, kUser) == 0);
  const Peer peer{kUser, 1, {}, false};
  const auto refusal = [&](const std::string& path) {
    try {
      require_own(peer, InCgroup{path});
      return std::string("none");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kPermission);
      return std::string(error.what());
    }
  };
  const std::string gone = refusal("/not-there");
  CHECK(gone != "none");
  CHECK(refusal("/../../.." + file.folder().string()) == gone);
  CHECK(refusal("/") == gone);
}
