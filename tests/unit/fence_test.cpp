// SPDX-License-Identifier: Apache-2.0
/// Two users on one host: whatever one of them announces, labels, runs or names, the other's data stays the other's. A
/// thousand tries of each kind.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

#include "base/folder.hpp"
#include "collect.hpp"
#include "context/proven_owners.hpp"
#include "insight/insight.hpp"
#include "serve/for_others.hpp"
#include "serve/own_things.hpp"
#include "serve/ownership.hpp"
#include "serve/sight.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;
using wire::Who;

namespace {

constexpr int kTries = 1000;
constexpr std::uint32_t kHost = 4026531841;  ///< Its mount namespace.
constexpr std::uint32_t kInside = 4026532500;
constexpr std::uint64_t kContainer = 50;  ///< Its cgroup.

struct User {
  uid_t uid;
  std::string name;  ///< In all their texts, and in nobody else's.
  uid_t subordinate;
};
const User kAlice{1000, "alice", 100000};
const User kBob{1001, "bob", 200000};

const User& other(const User& user) { return user.uid == kAlice.uid ? kBob : kAlice; }

/// The records of both users' processes, and what each of them gets of the events.
class Host {
 public:
  explicit Host(const UserIds& ids = UserIds({{kAlice.uid, kAlice.subordinate, 65536},
                                              {kBob.uid, kBob.subordinate, 65536}}))
      : ownership_(ids, proven_) {
    stages_.correlator.use(ids);
    insight_.use(ids);
    stages_.correlator.use(proven_);
    push(wire::cgroup_record(kContainer, "/docker/" + std::string(64, 'a')));
  }

  Who begin(const User& user, const Who* parent = nullptr, std::optional<uid_t> uid = {}) {
    Who who =
        parent != nullptr ? wire::child_of(*parent, ++last_pid_, now()) : Who{.pid = ++last_pid_, .start_ns = now()};
    who.uid = uid.value_or(user.uid);
    push(wire::start_record(who));
    return who;
  }
  /// `who` has the pid from now on.
  void begin_as(const Who& who) {
    programs_.erase(who.pid);
    push(wire::start_record(who));
  }
  void exec(Who& who, const std::string& cwd, const std::vector<std::string>& argv, const std::string& exe = {},
            const Folder& folder = {}) {
    push(wire::exec_record(who, {.time_ns = now(),
                                 .program_start_ns = program_of(who),
                                 .exe = exe.empty() ? "/usr/bin/" + argv[0] : exe,
                                 .cwd = cwd,
                                 .argv = argv,
                                 .cwd_inode = folder.inode,
                                 .cwd_device = folder.device,
                                 .cwd_owner = folder.owner}));
    programs_[who.pid] = now_;
  }
  /// A process of root in a container.
  Who begin_in_container() {
    Who who{.pid = ++last_pid_, .start_ns = now(), .uid = 0, .cgroup_id = kContainer, .mount_namespace = kInside};
    push(wire::start_record(who));
    return who;
  }
  void exit(const Who& who) {
    push(wire::exit_record(who, {.time_ns = now(), .program_start_ns = program_of(who)}));
    programs_.erase(who.pid);
  }
  /// From now on the process has these labels, which this user gave.
  void label(Who& who, const User& by, Context context) {
    context.owner_uid = by.uid;
    context.labels.push_back({"secret", by.name});
    who.context_id = ++last_context_;
    stages_.set_context(who.context_id, context);
  }
  void announce(const User& by, const std::string& key, Context context, std::optional<Who> process = {},
                const std::vector<std::string>& argv = {}, std::optional<Folder> folder = {}) {
    Announced one;
    one.folder = folder;
    one.mount_namespace = kHost;
    one.key = key;
    context.owner_uid = by.uid;
    context.labels.push_back({"secret", by.name});
    one.packed = packed(context, {});
    one.expires_after_ns = 1'000'000;
    one.uid = by.uid;
    if (process) one.started_from_ns = one.started_until_ns = process->start_ns;
    if (!argv.empty()) one.argv.emplace(argv);
    stages_.correlator.announce(std::move(one), now());
  }
  std::uint64_t now() { return now_ += 100; }
  std::uint32_t last_pid() const { return last_pid_; }

  /// What of the other's they were given.
  std::uint64_t leaks = 0;
  std::string first_leak;
  /// What both were given at all: without it, nothing was tried.
  std::map<uid_t, std::uint64_t> given;
  std::map<uid_t, std::uint64_t> given_of_root;  ///< Of these, of processes of root.
  std::map<uid_t, std::uint64_t> finished;       ///< Runs and tasks.
  /// The most processes that are in the totals of one.
  std::map<uid_t, std::uint64_t> most_processes;

 private:
  std::uint64_t program_of(const Who& who) const {
    const auto known = programs_.find(who.pid);
    return known == programs_.end() ? who.start_ns : known->second;
  }
  void push(const wire::Bytes& record) {
    stages_.push(record);
    std::vector<Event> events;
    for (const Event& event : stages_.events) insight_.add(event, events);
    for (const Event& event : events) {
      const Owner owner = ownership_.owner_of(event);
      for (const User& user : {kAlice, kBob})
        if (may_see({.owners = {user.uid}}, owner)) judge(user, for_owner(event, owner, ownership_));
    }
    stages_.events.clear();
  }
  void judge(const User& user, const Event& event) {
    ++given[user.uid];
    const std::string& secret = other(user).name;
    const auto leak = [&](const std::string& what) {
      if (leaks++ == 0) first_leak = user.name + " gets " + std::string(to_string(event.kind())) + ": " + what;
    };
    const auto check = [&](const std::optional<std::string>& text) {
      if (text && text->find(secret) != std::string::npos) leak(*text);
    };
    const auto check_program = [&](const Program& program) {
      check(program.cwd);
      for (const std::string& word : program.argv.value_or(std::vector<std::string>())) check(word);
    };
    const auto check_context = [&](const Context& context) {
      for (const auto& text : {context.pipeline, context.run, context.step, context.sample, context.task,
                               context.task_id, context.run_id, context.within})
        check(text);
      for (const auto& key : {context.run_key, context.task_key})
        if (key && keys_.try_emplace(*key, user.uid).first->second != user.uid) leak("a key that the other has");
      for (const Label& label : context.labels) check(label.value);
      for (const Overruled& one : context.overruled) check(one.value);
    };
    visit(
        [&](const auto& body) {
          if constexpr (requires { body.process->uid; }) {
            const Process& process = *body.process;
            if (process.uid == other(user).uid) leak("a process");
            if (process.uid == 0u) ++given_of_root[user.uid];
            check_program(*process.program);
            check_context(*process.context);
          }
          if constexpr (requires { body.ended.program; }) check_program(*body.ended.program);
          if constexpr (requires { body.program.program; }) check_program(*body.program.program);
          if constexpr (requires { body.context->run; }) check_context(*body.context);
          if constexpr (requires { body.before->run; }) check_context(*body.before), check_context(*body.after);
          if constexpr (requires { body.evidence; }) check(body.text);
          if constexpr (requires { body.totals.processes; }) {
            ++finished[user.uid];
            most_processes[user.uid] = std::max(most_processes[user.uid], body.totals.processes);
          }
        },
        event);
  }

  std::shared_ptr<ProvenOwners> proven_ = std::make_shared<ProvenOwners>(kHost);
  collect::Stages stages_;
  Insight insight_{4};
  std::map<Key, uid_t> keys_;  ///< Of runs and tasks, and to whom they were given.
  Ownership ownership_;
  std::map<std::uint32_t, std::uint64_t> programs_;
  std::uint32_t last_pid_ = 1000;
  std::uint32_t last_context_ = 0;
  std::uint64_t now_ = 1000;
};

/// Calls try_it(n, first, second) with both orders of the users.
template <class Try>
void tries(Try try_it) {
  std::mt19937 random(29);
  for (int n = 0; n < kTries; ++n) random() % 2 == 0 ? try_it(n, kAlice, kBob) : try_it(n, kBob, kAlice);
}

std::string home(const User& user) { return "/home/u" + std::to_string(user.uid); }

void check_no_leak(const Host& host) {
  CHECK(host.first_leak == "");
  CHECK(host.leaks == 0);
}

/// Each user was given their own runs and tasks, with so many processes at most.
void check_own_of_each(Host& host, std::uint64_t most_processes) {
  for (const User& user : {kAlice, kBob}) {
    CHECK(host.finished[user.uid] >= kTries);
    CHECK(host.most_processes[user.uid] == most_processes);
  }
}

}  // namespace

TEST_CASE("1,000 tries: equal names and ids in two users' labels") {
  Host host;
  const std::vector<Context> equal = {{.pipeline = "rnaseq", .run = "r1"},
                                      {.run = "r1", .run_id = "0c1f"},
                                      {.step = "align"},
                                      {.task_id = "4711.1"},
                                      {.run = "r1", .task = "t", .task_id = "ab/cdef"}};
  tries([&](int n, const User& first, const User& second) {
    const Context& context = equal[static_cast<std::size_t>(n) % equal.size()];
    std::vector<Who> all;
    for (const User& user : {first, second}) {
      Who who{.pid = 50'000 + static_cast<std::uint32_t>(all.size()), .start_ns = host.now(), .uid = user.uid};
      host.label(who, user, context);
      host.begin_as(who);
      host.exec(who, home(user), {"sort", user.name});
      all.push_back(who);
    }
    for (const Who& who : all) host.exit(who);
  });
  check_no_leak(host);
  check_own_of_each(host, 1);
}

TEST_CASE("1,000 tries: announcements of another user's folders, processes and arguments by guess") {
  Host host;
  tries([&](int n, const User& victim, const User& attacker) {
    const std::string project = home(victim) + '/' + std::to_string(n);
    const std::string folder = project + "/work";
    const std::string run = "r" + std::to_string(n);
    const Context context{.run = run, .task = attacker.name};
    Who shell = host.begin(victim);
    const auto attack = [&] {
      host.announce(attacker, "d" + folder, context);
      host.announce(attacker, "d" + project, context);
      host.announce(attacker, "p" + std::to_string(host.last_pid()), context);
      host.announce(attacker, "p" + std::to_string(host.last_pid() + 1), context);
      host.announce(attacker, "b" + std::to_string(shell.pid) + '\0' + "sort", context, shell, {"sort", "..."});
      host.announce(attacker, "c/user.slice/user-" + std::to_string(victim.uid) + ".slice", context);
    };
    if (n % 2 == 0) attack();
    host.exec(shell, folder, {"bash"});
    host.announce(victim, "d" + folder, {.run = run, .task = victim.name});
    Who sort = host.begin(victim, &shell);
    if (n % 2 != 0) attack();
    host.exec(sort, folder, {"sort", victim.name});
    Who own = host.begin(attacker);
    host.exec(own, folder, {"sort", attacker.name + "s own"});
    for (const Who& who : {sort, shell, own}) host.exit(who);
  });
  check_no_leak(host);
  for (const User& user : {kAlice, kBob}) {
    CHECK(host.finished[user.uid] > 0);
    CHECK(host.given[user.uid] > 0);
    CHECK(host.most_processes[user.uid] == 2);
  }
}

TEST_CASE("1,000 tries: a pid that another user's process had") {
  Host host;
  tries([&](int n, const User& first, const User& second) {
    const auto pid = static_cast<std::uint32_t>(40'000 + n % 7);
    Who before{.pid = pid, .start_ns = host.now(), .uid = first.uid};
    const Context context{.task = first.name, .task_id = std::to_string(pid) + ".1"};
    host.label(before, first, context);
    host.begin_as(before);
    host.announce(first, "p" + std::to_string(pid), context, n % 3 == 0 ? std::nullopt : std::optional(before));
    host.announce(first, "b" + std::to_string(pid) + '\0' + "sort", context, before, {"sort", "..."});
    host.exec(before, home(first), {"bash"});
    // Its end may be lost.
    if (n % 2 == 0) host.exit(before);
    Who after{.pid = pid, .start_ns = host.now(), .uid = second.uid};
    if (n % 5 == 0) host.label(after, second, {.task = second.name, .task_id = std::to_string(pid) + ".1"});
    host.begin_as(after);
    host.exec(after, home(second), {"bash", second.name});
    Who child = host.begin(second, &after);
    host.exec(child, home(second), {"sort", second.name});
    host.exit(child);
    host.exit(after);
  });
  check_no_leak(host);
  CHECK(host.given[kAlice.uid] > 0);
  CHECK(host.given[kBob.uid] > 0);
}

TEST_CASE("1,000 tries: an engine's task and run by another user's arguments and folder") {
  Host host;
  tries([&](int n, const User& victim, const User& attacker) {
    const std::string hash = "0123456789abcdef0123456" + std::to_string(1'000'000 + n);
    const std::string launch = home(victim) + "/" + std::to_string(n % 20);
    const std::string work = launch + "/work/ab/" + hash;
    const std::string job = std::to_string(n);
    const std::vector<std::vector<std::string>> forms = {
        {"bash", work + "/.command.run"},
        {"python3", "/usr/bin/_toil_worker", "align", "file:/js", job},
        {"bash", "/d/cromwell-executions/wf/" + job + "/call-align/execution/script"},
        {"bash", "/var/spool/pbs/mom_priv/jobs/" + job + ".head.SC"},
        {"bash", "/home/u/.lsbatch/1700000000." + job + ".shell"},
        {"bash", "/var/spool/slurmd/job" + job + "1/slurm_script"}};
    const auto& argv = forms[static_cast<std::size_t>(n) % forms.size()];
    std::vector<Who> all;
    const auto run = [&](const User& user, bool with_engine) {
      Who engine = host.begin(user);
      all.push_back(engine);
      host.exec(engine, launch, {"java", "nextflow.cli.Launcher", "run", "main.nf", "-name", user.name},
                "/usr/bin/java");
      Who task = with_engine ? host.begin(user, &engine) : host.begin(user);
      all.push_back(task);
      host.exec(task, work, argv);
    };
    // As what the victim's scheduler starts elsewhere, and the attacker's that only looks so.
    const bool attacker_first = n % 3 == 0;
    if (attacker_first) run(attacker, n % 2 == 0);
    run(victim, n % 2 != 0);
    if (!attacker_first) run(attacker, n % 2 == 0);
    std::reverse(all.begin(), all.end());
    for (const Who& who : all) host.exit(who);
  });
  check_no_leak(host);
  check_own_of_each(host, 2);
}

TEST_CASE("1,000 tries: user namespaces of two users") {
  Host host;
  tries([&](int n, const User& first, const User& second) {
    std::vector<Who> all;
    for (const User& user : {first, second}) {
      const std::string work = "/scratch/" + std::to_string(n);
      const std::string folder = home(user) + work;
      host.announce(user, "d" + folder, {.run = "r" + std::to_string(n), .task = "t"});
      host.announce(user, "d" + home(other(user)) + work, {.run = "r", .task = user.name});
      Who shell = host.begin(user);
      host.exec(shell, folder, {"podman", user.name});
      // A user of the container, below conmon, which has no parent any more.
      Who inner = host.begin(user, nullptr, user.subordinate + static_cast<uid_t>(n % 65536));
      host.exec(inner, folder, {"sort", user.name});
      all.push_back(inner);
      all.push_back(shell);
    }
    for (const Who& who : all) host.exit(who);
  });
  check_no_leak(host);
  // The shell's, and that of the container.
  check_own_of_each(host, 2);
}

TEST_CASE("1,000 tries: another user's rootful container by its folder's path, number, owner and engine") {
  Host host;
  std::mt19937 random(30);
  tries([&](int n, const User& victim, const User& attacker) {
    // The container's own folder, and what the attacker has made of what can be known of it.
    const std::string hash = "0123456789abcdef0123456" + std::to_string(1'000'000 + n);
    const std::string path = (n % 2 == 0 ? home(victim) : std::string("/tmp/w")) + "/ab/" + hash;
    const Folder theirs{.inode = 100 + random() % 5, .device = static_cast<std::uint32_t>(n % 3), .owner = victim.uid};
    const uid_t owners[] = {victim.uid, attacker.uid, 0};
    Folder guess{.inode = 100 + random() % 5,
                 .device = static_cast<std::uint32_t>(random() % 3),
                 .owner = owners[random() % 3],
                 .mount_namespace = random() % 2 == 0 ? kHost : kInside + 1};
    // A folder is one user's: what is the attacker's own is not the victim's.
    if (guess.owner == attacker.uid && is_same(guess, theirs)) ++guess.inode;
    const auto attack = [&] {
      if (guess.owner == attacker.uid)
        host.announce(attacker, "d" + path, {.run = "r", .task = attacker.name}, {}, {}, guess);
      if (guess.owner != attacker.uid) host.announce(attacker, "d" + path, {.run = "r", .task = attacker.name});
      Who fake = host.begin(attacker);
      fake.mount_namespace = guess.mount_namespace;
      host.exec(fake, path, {"bash", "-ue", ".command.run"}, {}, guess);
      host.exec(fake, path, {"sort", attacker.name}, {}, guess);
      host.exit(fake);
    };
    if (n % 3 == 0) attack();
    Who client = host.begin(victim);
    client.mount_namespace = kHost;
    Folder on_host = theirs;
    on_host.mount_namespace = kHost;
    if (n % 4 == 0) {
      host.announce(victim, "d" + path, {.run = "r", .task = victim.name}, {}, {}, on_host);
    } else {
      host.exec(client, path, {"bash", "-ue", ".command.run"}, {}, on_host);
    }
    if (n % 3 == 1) attack();
    Who inside = host.begin_in_container();
    host.exec(inside, path, {"bash", "-ue", ".command.sh", victim.name}, {}, theirs);
    Who inner = wire::child_of(inside, host.last_pid() + 5000, host.now());
    inner.uid = 0;
    inner.cgroup_id = kContainer;
    host.begin_as(inner);
    if (n % 3 == 2) attack();
    host.exec(inner, path + "/below", {"sort", victim.name});
    for (const Who& who : {inner, inside, client}) host.exit(who);
  });
  check_no_leak(host);
  // Of root, and theirs.
  for (const User& user : {kAlice, kBob}) CHECK(host.given_of_root[user.uid] >= kTries);
}

TEST_CASE("1,000 tries: attaching labels inside another user's run") {
  Host host;
  tries([&](int n, const User& owner, const User& guest) {
    // As of `sudo -u`.
    Who shell{.pid = 60'000, .start_ns = host.now(), .uid = owner.uid};
    host.label(shell, owner, {.run = owner.name});
    host.begin_as(shell);
    host.exec(shell, home(owner), {"bash", owner.name});
    Who inner = wire::child_of(shell, 60'001, host.now());
    inner.uid = owner.uid;
    inner.context_id = shell.context_id;
    host.begin_as(inner);
    host.exec(inner, home(owner), {"sudo", "-u", "guest", owner.name});
    inner.uid = guest.uid;
    if (n % 2 == 0) {
      host.label(inner, guest, {.run = guest.name, .task = "t"});
    } else {
      host.announce(guest, "d" + home(guest), {.run = guest.name, .task = "t"});
    }
    host.exec(inner, home(guest), {"sort", guest.name});
    host.exit(inner);
    host.exit(shell);
  });
  check_no_leak(host);
  // Where it is announced again, the guest's process stays where the owner's run is, and nobody is given more.
  for (const User& user : {kAlice, kBob}) CHECK(host.finished[user.uid] >= kTries / 2);
}

TEST_CASE("1,000 tries: symlinked, renamed and guessed folders of another user") {
  if (::geteuid() != 0) return;
  namespace fs = std::filesystem;
  const TempFile file;
  const fs::path place = file.folder();
  REQUIRE(::chmod(place.c_str(), 0755) == 0);
  for (const User& user : {kAlice, kBob}) {
    const fs::path own = place / user.name;
    for (const fs::path& folder : {own, own / "a", own / "a" / "b"}) {
      fs::create_directory(folder);
      REQUIRE(::chown(folder.c_str(), user.uid, user.uid) == 0);
    }
    REQUIRE(::chmod(own.c_str(), 0700) == 0);
  }
  std::mt19937 random(29);
  std::uint64_t taken = 0;
  std::uint64_t told = 0;
  std::uint64_t own = 0;
  for (int n = 0; n < kTries; ++n) {
    const User& attacker = n % 2 == 0 ? kAlice : kBob;
    const fs::path mine = place / attacker.name;
    const fs::path theirs = place / other(attacker).name;
    const Peer peer{attacker.uid, 1, {}, false};
    const auto ask = [&](const fs::path& path) {
      try {
        require_own_folder(peer, path);
        return std::string();
      } catch (const Error& error) {
        return std::to_string(static_cast<int>(error.code())) + error.what();
      }
    };
    const fs::path link = mine / ("link" + std::to_string(n));
    const std::vector<fs::path> inside = {theirs, theirs / "a", theirs / "a" / "b", theirs / "gone",
                                          theirs / "a" / "gone"};
    fs::create_symlink(inside[random() % inside.size()], link);
    for (const fs::path& path : {link, link / "b", link / "gone", mine / "a" / ".." / ".." / theirs.filename() / "a"})
      if (ask(path).empty()) ++taken;
    // The same answer, whatever is there.
    const fs::path there = theirs / "a";
    const fs::path gone = theirs / "x";
    const std::string of_there = ask(there);
    std::string of_gone = ask(gone);
    if (of_there.empty() || of_gone.empty()) ++taken;
    if (const auto at = of_gone.find(gone.string()); at != std::string::npos)
      of_gone.replace(at, gone.string().size(), there.string());
    if (of_there != of_gone) ++told;
    // Renamed between: the victim's folder is where the attacker's was.
    const fs::path moved = mine / "moved";
    fs::rename(theirs / "a", moved);
    if (ask(moved).empty() || ask(moved / "b").empty() || ask(moved / "gone").empty()) ++taken;
    fs::rename(moved, theirs / "a");
    if (ask(mine / "a" / "new").empty()) ++own;
    fs::remove(link);
  }
  CHECK(taken == 0);
  CHECK(told == 0);
  CHECK(own == kTries);
}
