// SPDX-License-Identifier: Apache-2.0
#include "files/history_place.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include <tracer/error.hpp>

#include "files/user_folder.hpp"
#include "history/owner.hpp"
#include "show/printable.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::printable;
namespace {

/// Each of them for its owner only. False: see errno.
bool make_folders(const std::filesystem::path& folder) {
  std::filesystem::path made;
  for (const auto& part : folder) {
    made /= part;
    if (::mkdir(made.c_str(), 0700) == 0 || errno == EEXIST) continue;
    // A folder that is there may be on a file system that can't be written.
    const int error_number = errno;
    struct stat there {};
    if (::stat(made.c_str(), &there) == 0) continue;
    errno = error_number;
    return false;
  }
  return true;
}

}  // namespace

std::filesystem::path place_of_history(const std::optional<tracer::User>& user) {
  const std::filesystem::path state = user_folder(user, "XDG_STATE_HOME", ".local/state");
  return state.empty() ? state : state / "tracer" / "history.db";
}

std::filesystem::path history_to_read(const Options& options, const std::optional<tracer::User>& user) {
  std::filesystem::path file = options.history ? std::filesystem::path(*options.history) : place_of_history(user);
  if (file.empty())
    throw tracer::Error({tracer::ErrorCode::kFileUnreadable,
                         0,
                         "there is no home folder, and so no history",
                         "name the file with --history",
                         {}});
  return file;
}

std::filesystem::path history_of_run(const Options& options, const std::optional<tracer::User>& user) {
  if (!options.use_history) return {};
  std::filesystem::path file = options.history ? std::filesystem::path(*options.history) : place_of_history(user);
  if (file.empty()) return {};
  try {
    const tracer::internal::FilesOf rights(user);
    if (!options.history && !make_folders(file.parent_path())) {
      say("tracerd: no history of runs is kept: {}: {}\n", printable(file.parent_path().string()),
          std::strerror(errno));
      return {};
    }
    struct stat there {};
    if (::lstat(file.c_str(), &there) != 0 && errno == ENOENT && ::access(file.parent_path().c_str(), W_OK) == 0)
      say("tracerd: a history of runs is kept from now on, in {}; to delete it: tracerd history --delete{}\n",
          printable(file.string()), options.history ? " --history " + printable(file.string()) : "");
  } catch (const tracer::Error& error) {
    say("tracerd: no history of runs is kept: {}\n", tracer::internal::printable_lines(error.what()));
    return {};
  }
  return file;
}

}  // namespace tracerd
