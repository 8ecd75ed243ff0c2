// SPDX-License-Identifier: Apache-2.0
#include "files/rotation.hpp"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/descriptor_message.hpp"
#include "process/privileges.hpp"
#include "serve/past_files.hpp"

namespace tracerd {
namespace {

/// A file by its folder, which may not be exchanged meanwhile.
struct Place {
  int folder = -1;
  std::string folder_name;
  std::string name;
  std::string owner = {};  ///< Its folder below that one, made when it is needed. Empty: it is that one.
  struct stat file {};     ///< That is written to.
};

struct Request {
  enum class What : std::uint32_t { kNext, kAddOwner, kRemoveOldest, kRemoveOldestOfAll, kSealOlder, kSealAll };
  What what = What::kNext;
  std::uint32_t which = 0;  ///< Of kAddOwner the user.
};

struct Answer {
  int error_number = 0;
  std::uint32_t which = 0;    ///< With an error when it begins: of which file.
  std::uint32_t removed = 0;  ///< Those that were there, and are not any more.
  bool moved = false;         ///< At its name was not the one that was written to.
  Outbox::Counts outbox;
};

template <class T>
bool send(int socket, const T& body, int fd = -1) noexcept {
  return tracer::internal::send_with_descriptor(socket, std::as_bytes(std::span(&body, 1)), fd);
}
template <class T>
bool receive(int socket, T& body, int& fd) noexcept {
  return tracer::internal::receive_with_descriptor(socket, std::as_writable_bytes(std::span(&body, 1)), fd);
}

/// One more than those that are there; the files in between are kept, too.
std::uint32_t first_free(const Place& place) {
  struct stat any {};
  std::uint32_t number = 1;
  while (::fstatat(place.folder, fmt::format("{}.{}", place.name, number).c_str(), &any, AT_SYMLINK_NOFOLLOW) == 0)
    ++number;
  return number;
}

/// Those that are too old or take too much, see Rotation::Lasting, or beyond those that are kept, as it was more
/// before. Returns how many.
std::uint32_t remove_old(const Place& place, std::uint32_t keep, const Rotation::Lasting& lasting, Outbox& outbox) {
  const std::chrono::seconds max_age = lasting.max_age;
  if (max_age.count() == 0) return 0;
  const std::uint32_t end = std::max(keep + 1, first_free(place));
  const std::int64_t longest = max_age.count() / 4 + 1;
  std::int64_t newer = std::time(nullptr);
  std::int64_t age = 0;
  std::uint64_t bytes = 0;
  std::uint32_t removed = 0;
  for (std::uint32_t number = 1; number < end; ++number) {
    const std::string name = fmt::format("{}.{}", place.name, number);
    struct stat file {};
    if (::fstatat(place.folder, name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(file.st_mode)) continue;
    age += std::clamp<std::int64_t>(newer - file.st_mtime, 0, longest);
    newer = file.st_mtime;
    bytes += static_cast<std::uint64_t>(file.st_blocks) * 512;
    const bool is_too_much = lasting.most_bytes != 0 && bytes > lasting.most_bytes;
    if (age <= max_age.count() && number <= keep && !is_too_much) continue;
    outbox.forget(place.folder, name);
    if (::unlinkat(place.folder, name.c_str(), 0) == 0) ++removed;
  }
  return removed;
}

bool open_folder(Place& place) {
  if (place.folder >= 0) ::close(place.folder);
  place.folder = ::open(place.folder_name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (place.owner.empty() || place.folder < 0) return place.folder >= 0;
  const int above = place.folder;
  if (::mkdirat(above, place.owner.c_str(), 0700) == 0 || errno == EEXIST) {
    place.folder = ::openat(above, place.owner.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  } else {
    place.folder = -1;
  }
  const int error_number = errno;
  ::close(above);
  errno = error_number;
  return place.folder >= 0;
}

/// `all`: also the one that is or was written to.
void remove_oldest(Place& place, bool all, Outbox& outbox, Answer& answer) {
  if (place.folder < 0 && !open_folder(place)) return;
  const std::uint32_t end = first_free(place);
  const std::string oldest = end > 1 ? fmt::format("{}.{}", place.name, end - 1) : all ? place.name : "";
  if (oldest.empty()) return;
  outbox.forget(place.folder, oldest);
  if (::unlinkat(place.folder, oldest.c_str(), 0) == 0) answer.removed = 1;
}

/// A descriptor of the new file, or what failed.
int rotate(Place& place, std::uint32_t keep, const Rotation::Lasting& lasting, Outbox& outbox, Answer& answer) {
  // One that was removed and made anew is another one.
  struct stat folder {};
  const bool is_there = place.folder >= 0 && ::fstat(place.folder, &folder) == 0 && folder.st_nlink != 0;
  if (!is_there && lasting.folder_may_come && !open_folder(place)) {
    answer.error_number = errno;
    return -1;
  }
  const auto numbered = [&place](std::uint32_t number) { return tracer::internal::name_of_past(place.name, number); };
  if (keep == Rotation::kKeepAll) keep = first_free(place);
  struct stat oldest {};
  if (::fstatat(place.folder, numbered(keep).c_str(), &oldest, AT_SYMLINK_NOFOLLOW) == 0) {
    answer.removed = 1;
    outbox.forget(place.folder, numbered(keep));
  }
  struct stat written {};
  const bool known = place.file.st_ino != 0;
  answer.moved = known && (::fstatat(place.folder, place.name.c_str(), &written, 0) != 0 ||
                           written.st_dev != place.file.st_dev || written.st_ino != place.file.st_ino);
  for (std::uint32_t number = keep; number-- > 0;) {
    const int failed = ::renameat(place.folder, numbered(number).c_str(), place.folder, numbered(number + 1).c_str());
    if (failed == 0 || errno == ENOENT) continue;
    answer.error_number = errno;
    return -1;
  }
  answer.removed += remove_old(place, keep, lasting, outbox);
  // Made by this call: it can't be a link, nor a file that somebody else may read.
  const int fd = ::openat(place.folder, place.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || ::fstat(fd, &place.file) != 0) answer.error_number = errno;
  // The names that files have by now outlive a crash of the machine.
  const int names = ::openat(place.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (names >= 0) {
    ::fsync(names);
    ::close(names);
  }
  return fd;
}

/// Until nobody can ask any more.
void serve(int socket, std::vector<Place>& places, std::uint32_t keep, const Rotation::Lasting& lasting) {
  Outbox outbox(lasting.outbox);
  outbox.take_up(lasting.folder_of_owners, tracer::internal::kNameOfPast);
  for (;;) {
    using What = Request::What;
    Request request;
    int none = -1;
    if (!receive(socket, request, none)) return;
    Answer answer;
    int fd = -1;
    if (request.what == What::kAddOwner) {
      answer.which = static_cast<std::uint32_t>(places.size());
      places.push_back({.folder_name = lasting.folder_of_owners,
                        .name = tracer::internal::kNameOfPast,
                        .owner = std::to_string(request.which)});
    } else if (request.which >= places.size()) {
      return;
    } else if (request.what == What::kNext) {
      fd = rotate(places[request.which], keep, lasting, outbox, answer);
    } else if (request.what == What::kSealOlder || request.what == What::kSealAll) {
      Place& place = places[request.which];
      if (place.folder >= 0 || open_folder(place))
        outbox.seal(place.folder, place.name, request.what == What::kSealAll);
    } else {
      remove_oldest(places[request.which], request.what == What::kRemoveOldestOfAll, outbox, answer);
    }
    answer.outbox = outbox.counts();
    const bool sent = send(socket, answer, fd);
    if (fd >= 0) ::close(fd);
    if (!sent) return;
  }
}

/// What is inherited is not this process's to hold open.
void keep_only(int socket) noexcept {
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) ::dup2(null, fd);
  ::dup2(socket, STDERR_FILENO + 1);
  ::close_range(STDERR_FILENO + 2, ~0u, 0);
}

[[noreturn]] void run_helper(const std::optional<tracer::User>& user, int socket, const std::vector<std::string>& files,
                             std::uint32_t keep, const Rotation::Lasting& lasting) noexcept {
  // It ends when its socket does; a key that stops the command must not stop it in between two names.
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  keep_only(socket);
  socket = STDERR_FILENO + 1;
  Answer ready;
  std::vector<Place> places;
  // Who is of a group may give own files to it, without any right.
  if (lasting.outbox.group) ::setgroups(1, &*lasting.outbox.group);
  if (!become_for_files(user)) ready.error_number = errno;
  for (const std::string& file : files) {
    const std::filesystem::path path(file);
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    places.push_back({.folder_name = folder, .name = path.filename().string()});
    Place& place = places.back();
    if (!open_folder(place) && !lasting.folder_may_come && ready.error_number == 0) {
      ready.error_number = errno;
      ready.which = static_cast<std::uint32_t>(places.size() - 1);
    }
    if (::fstatat(place.folder, place.name.c_str(), &place.file, 0) != 0) place.file = {};
  }
  if (send(socket, ready) && ready.error_number == 0) serve(socket, places, keep, lasting);
  ::_exit(0);
}

[[noreturn]] void refuse(int error_number, std::string what, std::string fix = {}) {
  throw tracer::Error({tracer::ErrorCode::kFileUnwritable, error_number, std::move(what), std::move(fix), {}});
}

}  // namespace

Rotation::Rotation(const std::optional<tracer::User>& user, const std::vector<std::string>& files, std::uint32_t keep,
                   Lasting lasting)
    : folder_of_owners_(lasting.folder_of_owners), has_outbox_(!lasting.outbox.folder.empty()) {
  for (const std::string& file : files) names_.push_back({.path = file});
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) refuse(errno, "can't make a socket");
  helper_ = ::fork();
  if (helper_ == 0) run_helper(user, ends[1], files, keep, lasting);
  const int error_number = errno;
  ::close(ends[1]);
  socket_ = ends[0];
  if (helper_ < 0) refuse(error_number, "can't fork");
  Answer ready;
  int none = -1;
  if (!receive(socket_, ready, none)) refuse(0, "the helper that names files has died");
  if (ready.error_number != 0)
    refuse(ready.error_number, fmt::format("the folder of {} can't be used", files.at(ready.which)),
           "make it, or name a file in another folder");
}

Rotation::~Rotation() {
  ::close(socket_);
  if (helper_ > 0) ::waitpid(helper_, nullptr, 0);
}

int Rotation::next(std::size_t which) {
  const std::lock_guard lock(mutex_);
  const Request request{Request::What::kNext, static_cast<std::uint32_t>(which)};
  Answer answer;
  int fd = -1;
  if (!send(socket_, request) || !receive(socket_, answer, fd)) {
    errno = EPIPE;
    return -1;
  }
  Name& name = names_[which];
  name.removed += answer.removed;
  name.moved = name.moved || answer.moved;
  outbox_ = answer.outbox;
  if (fd >= 0) name.newest = file_at(name.path, fd);
  errno = answer.error_number;
  return fd;
}

std::size_t Rotation::add_owner(uid_t uid) {
  const std::lock_guard lock(mutex_);
  const Request request{Request::What::kAddOwner, uid};
  Answer answer;
  int none = -1;
  // Without a helper, next() says so.
  if (!send(socket_, request) || !receive(socket_, answer, none))
    answer.which = static_cast<std::uint32_t>(names_.size());
  names_.push_back({.path = fmt::format("{}/{}/{}", folder_of_owners_, uid, tracer::internal::kNameOfPast)});
  return answer.which;
}

bool Rotation::remove_oldest(std::size_t which, bool all) {
  const std::lock_guard lock(mutex_);
  const Request request{all ? Request::What::kRemoveOldestOfAll : Request::What::kRemoveOldest,
                        static_cast<std::uint32_t>(which)};
  Answer answer;
  int none = -1;
  if (!send(socket_, request) || !receive(socket_, answer, none)) return false;
  names_[which].removed += answer.removed;
  return answer.removed != 0;
}

void Rotation::seal(std::size_t which, bool newest) {
  if (!has_outbox_) return;
  const std::lock_guard lock(mutex_);
  const Request request{newest ? Request::What::kSealAll : Request::What::kSealOlder,
                        static_cast<std::uint32_t>(which)};
  Answer answer;
  int none = -1;
  if (send(socket_, request) && receive(socket_, answer, none)) outbox_ = answer.outbox;
}

Outbox::Counts Rotation::outbox() const {
  const std::lock_guard lock(mutex_);
  return outbox_;
}

std::uint64_t Rotation::removed(std::size_t which) const {
  const std::lock_guard lock(mutex_);
  return names_[which].removed;
}

bool Rotation::moved(std::size_t which, const std::optional<NamedFile>& first) const {
  const std::lock_guard lock(mutex_);
  const Name& name = names_[which];
  const std::optional<NamedFile>& newest = name.newest ? name.newest : first;
  return name.moved || (newest && has_left_its_name(*newest));
}

}  // namespace tracerd
