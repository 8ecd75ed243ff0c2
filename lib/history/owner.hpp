// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include <tracer/run.hpp>

namespace tracer::internal {

/// While it lives, the calling thread of root reads, makes and writes files with the rights of `user`, and as its own;
/// a history that is opened meanwhile stays open. Absent, or not root: nothing changes.
class FilesOf {
 public:
  /// Throws Error(kPermission).
  explicit FilesOf(const std::optional<User>& user);
  ~FilesOf();
  FilesOf(const FilesOf&) = delete;
  FilesOf& operator=(const FilesOf&) = delete;

 private:
  void go_back() noexcept;

  bool changed_ = false;
  std::vector<gid_t> groups_;
  gid_t gid_ = 0;
  uid_t uid_ = 0;
};

/// Sessions that the calling thread makes while it lives open their histories with the rights of `user`.
class HistoriesOf {
 public:
  explicit HistoriesOf(std::optional<User> user);
  ~HistoriesOf();
  HistoriesOf(const HistoriesOf&) = delete;
  HistoriesOf& operator=(const HistoriesOf&) = delete;

  /// Absent: the caller's own.
  static const std::optional<User>& current() noexcept;

 private:
  std::optional<User> before_;
};

}  // namespace tracer::internal
