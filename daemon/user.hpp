// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tracerd {

/// Whom a command runs as, and who owns the files that are written.
struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string name;
  std::optional<std::string> home;
};

/// The user that `wanted` names, else the one who called sudo, else absent: stay who we are.
/// Throws tracer::Error: kNoSuchUser, kPermission.
std::optional<User> user_to_run_as(const std::optional<std::string>& wanted);

/// Becomes this user for good. False: errno says why.
bool become(const User& user) noexcept;

/// Opens files with this user's rights for as long as it lives.
class ActingAs {
 public:
  explicit ActingAs(const std::optional<User>& user);
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

 private:
  std::optional<std::vector<gid_t>> own_groups_;
  gid_t own_gid_ = 0;
};

/// Gives up every capability that tracing does not need any more; never to be had again.
void drop_privileges() noexcept;

}  // namespace tracerd
