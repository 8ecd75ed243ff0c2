// SPDX-License-Identifier: Apache-2.0
/// Containers name folders by paths of their own: what joins a task by its folder, and whose root's processes in a
/// container are.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/folder.hpp"
#include "builders.hpp"
#include "collect.hpp"
#include "context/proven_owners.hpp"
#include "serve/for_others.hpp"
#include "serve/ownership.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;
using wire::Who;

namespace {

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;
constexpr Owner kOfAlice{Audience::kOwner, kAlice};
constexpr Owner kOfBob{Audience::kOwner, kBob};
constexpr Owner kOfRoot{Audience::kRoot, 0};
constexpr std::uint32_t kHost = 4026531841;  ///< Its mount namespace.
constexpr std::uint32_t kInside = 4026532500;
constexpr std::uint64_t kContainer = 50;  ///< Its cgroup.
const std::string kFolder = "/data/work/ab/0123456789abcdef0123456789abcd";
const Folder kAlices{.inode = 7, .device = 8, .owner = kAlice, .mount_namespace = kHost};

/// The processes of a host and of one container on it, and whose each event is.
class Machine {
 public:
  Machine() {
    stages_.correlator.use(proven_);
    stages_.push(wire::cgroup_record(1, "/user.slice"));
    stages_.push(wire::cgroup_record(kContainer, "/docker/" + std::string(64, 'a')));
  }

  void announce(uid_t uid, std::optional<Folder> folder, const std::string& path = kFolder) {
    Announced one;
    one.key = "d" + path;
    one.packed = packed({.task = "t", .owner_uid = uid == 0 ? std::nullopt : std::optional<std::uint32_t>(uid)}, {});
    one.expires_after_ns = 1'000'000'000;
    one.uid = uid;
    one.folder = folder;
    one.mount_namespace = kHost;
    stages_.correlator.announce(std::move(one), ++now_);
  }
  Who begin(uid_t uid, std::uint32_t mount_namespace, std::uint64_t cgroup = 1, const Who* parent = nullptr) {
    Who who =
        parent != nullptr ? wire::child_of(*parent, ++last_pid_, ++now_) : Who{.pid = ++last_pid_, .start_ns = ++now_};
    who.uid = uid;
    who.mount_namespace = mount_namespace;
    who.cgroup_id = cgroup;
    push(wire::start_record(who));
    return who;
  }
  Who in_container(uid_t uid = 0) { return begin(uid, kInside, kContainer); }
  /// Whose the exec is. `folder` absent: the kernel does not say which it is.
  Owner exec(const Who& who, const std::optional<Folder>& folder, const std::string& cwd = kFolder,
             const std::vector<std::string>& argv = {"sort", "x"}) {
    wire::Exec exec{.time_ns = ++now_,
                    .program_start_ns = programs_.contains(who.pid) ? programs_[who.pid] : who.start_ns,
                    .exe = "/usr/bin/" + argv[0],
                    .cwd = cwd,
                    .argv = argv};
    if (folder) exec.cwd_inode = folder->inode, exec.cwd_device = folder->device, exec.cwd_owner = folder->owner;
    push(wire::exec_record(who, exec));
    programs_[who.pid] = now_;
    return last_owner_;
  }
  Owner exit(const Who& who) {
    push(wire::exit_record(who, {.time_ns = ++now_, .program_start_ns = programs_[who.pid]}));
    return last_owner_;
  }
  /// Of the last exec or exit.
  std::optional<std::string> task() const { return last_process_->context->task; }
  const Event& last_exec_for_owner() const { return last_exec_; }
  Ownership& ownership() { return ownership_; }

 private:
  void push(const wire::Bytes& record) {
    stages_.push(record);
    for (const Event& event : stages_.events) {
      const Owner owner = ownership_.owner_of(event);
      const auto note = [&](const auto* body) {
        if (body == nullptr) return;
        last_owner_ = owner;
        last_process_ = body->process;
      };
      note(event.get_if<ProcessExec>());
      note(event.get_if<ProcessExit>());
      if (event.kind() == EventKind::kProcessExec) last_exec_ = for_owner(event, owner, ownership_);
    }
    stages_.events.clear();
  }

  std::shared_ptr<ProvenOwners> proven_ = std::make_shared<ProvenOwners>(kHost);
  collect::Stages stages_;
  Ownership ownership_{UserIds(), proven_};
  std::map<std::uint32_t, std::uint64_t> programs_;
  std::uint32_t last_pid_ = 100;
  std::uint64_t now_ = 1000;
  Owner last_owner_;
  std::shared_ptr<const Process> last_process_;
  Event last_exec_ = build::end();
};

}  // namespace

TEST_CASE("root's process in a container is theirs whose task's folder it works in, and so is what it begins") {
  Machine machine;
  machine.announce(kAlice, kAlices);
  const Who shell = machine.in_container();
  CHECK(machine.exec(shell, kAlices, kFolder, {"sh", "-c", "secret"}) == kOfAlice);
  CHECK(machine.task() == "t");
  const auto* seen = machine.last_exec_for_owner().get_if<ProcessExec>();
  REQUIRE(seen != nullptr);
  CHECK(seen->process->program->argv == std::vector<std::string>{"sh", "***", "***"});
  CHECK(seen->process->context->task == "t");
  const Who inner = machine.begin(0, kInside, kContainer, &shell);
  CHECK(machine.exec(inner, {}, "/") == kOfAlice);
  CHECK(machine.exit(inner) == kOfAlice);
  CHECK(machine.exit(shell) == kOfAlice);
  CHECK(machine.ownership().processes() == 0);
}

TEST_CASE("what a container's runtime ran before is kept from whose its process is then") {
  Machine machine;
  machine.announce(kAlice, kAlices);
  const Who runtime = machine.in_container();
  CHECK(machine.exec(runtime, {}, "/run/bundle", {"runc", "init"}) == kOfRoot);
  CHECK(machine.exec(runtime, kAlices) == kOfAlice);
  CHECK(machine.last_exec_for_owner().get_if<ProcessExec>()->ended.program == Process::unknown_program());
}

TEST_CASE("a path alone gives nobody a process of root") {
  Machine machine;
  machine.announce(kAlice, kAlices);
  Folder other_number = kAlices;
  ++other_number.inode;
  Folder other_device = kAlices;
  ++other_device.device;
  // It has her folder's number by now, and belongs to somebody else.
  Folder of_bob = kAlices;
  of_bob.owner = kBob;
  Folder of_root = kAlices;
  of_root.owner = 0;
  for (const auto& folder : {std::optional<Folder>(), std::optional(other_number), std::optional(other_device),
                             std::optional(of_bob), std::optional(of_root)}) {
    CHECK(machine.exec(machine.in_container(), folder) == kOfRoot);
    CHECK(machine.task() == std::nullopt);
  }
  // Root's own, who works in her folder on the host, or in a mount namespace that is no container's; a monitor.
  CHECK(machine.exec(machine.begin(0, kHost), kAlices) == kOfRoot);
  CHECK(machine.exec(machine.begin(0, kInside), kAlices) == kOfRoot);
  CHECK(machine.exec(machine.begin(0, kHost, kContainer), kAlices) == kOfRoot);
  CHECK(machine.exec(machine.begin(0, 0, kContainer), kAlices) == kOfRoot);
  // Below the folder: nobody says of which folder that is the folder.
  CHECK(machine.exec(machine.in_container(), kAlices, kFolder + "/below") == kOfRoot);
  // Of Bob's own process there, whatever its number says.
  CHECK(machine.exec(machine.in_container(kBob), kAlices) == kOfBob);
  CHECK(machine.task() == std::nullopt);
}

TEST_CASE("whoever began a process of root keeps it, in whatever folder it works") {
  Machine machine;
  machine.announce(kAlice, kAlices);
  const Who bobs = machine.begin(kBob, kHost);
  machine.exec(bobs, {}, "/home/bob", {"sudo", "podman"});
  const Who below = machine.begin(0, kInside, kContainer, &bobs);
  CHECK(machine.exec(below, kAlices) == kOfBob);
  CHECK(machine.last_exec_for_owner().get_if<ProcessExec>()->process->context->task == std::nullopt);
}

TEST_CASE("what is announced when it runs gives it to its owner from then on") {
  Machine machine;
  const Who shell = machine.in_container();
  CHECK(machine.exec(shell, kAlices) == kOfRoot);
  machine.announce(kAlice, kAlices);
  CHECK(machine.exit(shell) == kOfAlice);
  CHECK(machine.task() == "t");
}

TEST_CASE("one path that leads elsewhere within a container is not the task's folder, whoever works there") {
  Machine machine;
  machine.announce(kAlice, kAlices);
  Folder other = kAlices;
  ++other.inode;
  CHECK(machine.exec(machine.in_container(kAlice), other) == kOfAlice);
  CHECK(machine.task() == std::nullopt);
  CHECK(machine.exec(machine.in_container(kAlice), kAlices) == kOfAlice);
  CHECK(machine.task() == "t");
  // Where nobody knows which folder it is, its path counts.
  machine.exec(machine.in_container(kAlice), {});
  CHECK(machine.task() == "t");
  machine.exec(machine.begin(kAlice, 0), other);
  CHECK(machine.task() == "t");
  // On the host, the folder was made anew since: it is the task's.
  machine.exec(machine.begin(kAlice, kHost), other);
  CHECK(machine.task() == "t");
  CHECK(machine.exec(machine.in_container(), other) == kOfAlice);
  CHECK(machine.exec(machine.in_container(), kAlices) == kOfRoot);
}

TEST_CASE("a folder that is made after it was announced is known by its owner's processes on the host") {
  Machine machine;
  machine.announce(kAlice, {});
  CHECK(machine.exec(machine.in_container(), kAlices) == kOfRoot);
  // Neither by those in a container, nor by a folder of somebody else.
  machine.exec(machine.in_container(kAlice), kAlices);
  CHECK(machine.task() == "t");
  Folder of_bob = kAlices;
  of_bob.owner = kBob;
  machine.exec(machine.begin(kAlice, kHost), of_bob);
  CHECK(machine.exec(machine.in_container(), kAlices) == kOfRoot);
  CHECK(machine.exec(machine.in_container(), of_bob) == kOfRoot);
  machine.exec(machine.begin(kAlice, kHost), kAlices);
  CHECK(machine.exec(machine.in_container(), kAlices) == kOfAlice);
  // It is announced once more, and still known.
  machine.announce(kAlice, {});
  CHECK(machine.exec(machine.in_container(), kAlices) == kOfAlice);
}

TEST_CASE("a container is in the task of an engine whose folder it works in") {
  const std::vector<std::string> wrapper = {"bash", "-ue", ".command.run"};
  const std::vector<std::string> script = {"bash", "-ue", ".command.sh"};
  Machine machine;
  const Who host = machine.begin(kAlice, kHost);
  CHECK(machine.exec(host, kAlices, kFolder, wrapper) == kOfAlice);
  CHECK(machine.exec(machine.in_container(), kAlices, kFolder, script) == kOfAlice);
  CHECK(machine.exec(machine.in_container(), {}, kFolder, script) == kOfRoot);
  // Another folder of that name: another task, of nobody's.
  Folder other = kAlices;
  ++other.inode;
  CHECK(machine.exec(machine.in_container(), other, kFolder, script) == kOfRoot);
  // In another folder, which the same task may be in as well.
  CHECK(machine.exec(machine.in_container(), kAlices, "/scratch/ab/0123456789abcdef0123456789abcd", script) ==
        kOfAlice);
}

TEST_CASE("a task whose leader is in a mount namespace of its own proves nothing") {
  const std::vector<std::string> wrapper = {"bash", "-ue", ".command.run"};
  Machine machine;
  const Who fake = machine.begin(kAlice, 4026532999);
  machine.exec(fake, kAlices, kFolder, wrapper);
  CHECK(machine.exec(machine.in_container(), kAlices, kFolder, {"bash", "-ue", ".command.sh"}) == kOfRoot);
}

TEST_CASE("what proves an owner is taken once, by events from then on, and bounded") {
  ProvenOwners owners(kHost);
  Process process;
  process.pid = 1;
  process.start_ns = 5;
  owners.note(process, 100, kAlice);
  CHECK(owners.take(process, 99) == std::nullopt);
  Process later = process;
  later.start_ns = 6;
  CHECK(owners.take(later, 100) == std::nullopt);
  CHECK(owners.take(process, 100) == kAlice);
  CHECK(owners.take(process, 101) == std::nullopt);
  for (std::uint32_t pid = 1; pid <= ProvenOwners::kMost + 1; ++pid) {
    process.pid = pid;
    owners.note(process, 1, kAlice);
  }
  process.pid = 1;
  CHECK(owners.take(process, 1) == std::nullopt);
  process.pid = 2;
  CHECK(owners.take(process, 1) == kAlice);
}

TEST_CASE("a folder is known by what the kernel calls it") {
  const TempFile file;
  const std::filesystem::path place = file.folder();
  const auto folder = folder_at(place);
  struct stat status {};
  REQUIRE(::stat(place.c_str(), &status) == 0);
  // Not where the numbers of folders say nothing.
  if (folder) {
    CHECK(folder->inode == status.st_ino);
    CHECK(folder->owner == ::getuid());
    // Of the first process, whose namespaces not everybody may see.
    REQUIRE((::stat("/proc/1/ns/mnt", &status) == 0 || ::stat("/proc/self/ns/mnt", &status) == 0));
    CHECK(folder->mount_namespace == status.st_ino);
  }
  CHECK_FALSE(folder_at(place / "not-there").has_value());
  CHECK_FALSE(folder_at("/dev/null").has_value());
}
