// SPDX-License-Identifier: Apache-2.0
/// Process trees whose records are dropped, doubled, cut and shuffled on their way.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/filter.hpp>
#include <tracer/session.hpp>

#include "collect.hpp"

using namespace tracer;
using wire::Who;

namespace {

/// std::uniform_int_distribution differs between libraries; this does not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : engine_() % end; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

struct Sent {
  std::uint64_t cpu_ns = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t peak_pages = 0;
};

using Identity = std::pair<std::uint32_t, std::uint64_t>;

struct Tree {
  std::vector<wire::Bytes> records;
  std::map<Identity, Sent> sent;
};

/// A random tree, in the order in which the kernel would send it. Pids come back after their process's end.
Tree make_tree(Dice& dice) {
  struct Living {
    Who who;
    std::uint64_t program_start_ns;
    std::uint64_t counted;
  };
  Tree tree;
  std::vector<Living> living;
  std::uint64_t now = 1000;
  const auto begin = [&](const Who& who) {
    tree.records.push_back(wire::start_record(who));
    living.push_back({who, who.start_ns, 1});
  };
  const auto free_pid = [&] {
    for (;;) {
      const auto pid = static_cast<std::uint32_t>(1 + dice.below(60));
      if (std::none_of(living.begin(), living.end(), [&](const Living& each) { return each.who.pid == pid; }))
        return pid;
    }
  };
  begin({.pid = 1, .start_ns = now, .comm = "init"});
  for (int step = 0; step < 400; ++step) {
    now += 1 + dice.below(100);
    const std::size_t at = dice.below(living.size());
    switch (dice.below(6)) {
      case 0:
      case 1:
        if (living.size() < 40) begin(wire::child_of(living[at].who, free_pid(), now));
        break;
      case 2: {
        Living& one = living[at];
        one.counted += dice.below(10);
        std::string word(dice.below(200), 'x');
        tree.records.push_back(wire::exec_record(
            one.who, {.time_ns = now,
                      .program_start_ns = one.program_start_ns,
                      .exe = "/usr/bin/tool" + std::to_string(dice.below(5)),
                      .argv = {"tool", std::move(word), "--password=hunter2"},
                      .total = wire::counted(one.counted),
                      .peak_pages = dice.below(1000),
                      .flags = TRACER_FLAG_EXECUTED | (dice.one_in(3) ? TRACER_FLAG_THREADS_PENDING : 0u)}));
        one.program_start_ns = now;
        break;
      }
      case 3: tree.records.push_back(wire::cgroup_record(1, "/docker/" + std::string(64, 'a'), dice.one_in(2))); break;
      case 4:
        tree.records.push_back(wire::thread_record(
            living[at].who, {.time_ns = now, .tid = living[at].who.pid, .own = wire::counted(dice.below(50))}));
        break;
      default: {
        if (living.size() < 2) break;
        const Living one = living[at];
        living.erase(living.begin() + static_cast<std::ptrdiff_t>(at));
        const tracer_wire_account total = wire::counted(one.counted + dice.below(20));
        const std::uint64_t pages = 1 + dice.below(1000);
        wire::Exit exit{.time_ns = now,
                        .program_start_ns = one.program_start_ns,
                        .exit_code = static_cast<std::uint32_t>(dice.below(256) << 8),
                        .total = total,
                        .peak_pages = pages,
                        .flags = TRACER_FLAG_EXECUTED | TRACER_FLAG_PEAK_EXACT};
        if (dice.one_in(4)) exit.late = wire::counted(1);
        tree.records.push_back(wire::exit_record(one.who, exit));
        tree.sent[{one.who.pid, one.who.start_ns}] = {total.cpu_ns, total.read_bytes, total.written_bytes, pages};
      }
    }
  }
  return tree;
}

struct Faulty {
  std::vector<wire::Bytes> records;
  std::uint64_t malformed = 0;
};

Faulty with_faults(const std::vector<wire::Bytes>& records, Dice& dice) {
  Faulty faulty;
  for (const wire::Bytes& record : records) {
    if (dice.one_in(10)) continue;
    faulty.records.push_back(record);
    if (dice.one_in(10)) faulty.records.push_back(record);
    if (dice.one_in(10)) {  // Shorter than its header says.
      faulty.records.back().resize(dice.below(record.size()));
      ++faulty.malformed;
    }
  }
  for (std::size_t i = 0; i + 8 < faulty.records.size(); ++i)
    if (dice.one_in(5)) std::swap(faulty.records[i], faulty.records[i + 1 + dice.below(7)]);
  return faulty;
}

std::uint64_t at_most(const std::optional<std::uint64_t>& value) { return value.value_or(0); }

void check_account(const Account& account, const Sent& sent) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  CHECK(at_most(account.cpu_ns) <= sent.cpu_ns);
  CHECK(at_most(account.user_ns) <= sent.cpu_ns);
  CHECK(at_most(account.system_ns) <= sent.cpu_ns);
  CHECK(at_most(account.read_bytes) <= sent.read_bytes);
  CHECK(at_most(account.read_at_most_bytes) <= sent.read_bytes);
  CHECK(at_most(account.written_bytes) <= sent.written_bytes);
  CHECK(at_most(account.peak_rss_bytes) <= sent.peak_pages * page);
}

void check_event(const Event& event, const Tree& tree) {
  visit(
      [&](const auto& e) {
        if constexpr (requires { e.process; }) {
          REQUIRE(e.process != nullptr);
          CHECK(e.process->pid != 0);
        }
      },
      event);
  CHECK(to_json(event).find("hunter2") == std::string::npos);
  if (const auto* exit = event.get_if<ProcessExit>()) {
    const auto sent = tree.sent.find({exit->process->pid, exit->start_ns});
    REQUIRE(sent != tree.sent.end());
    // An exit that comes through has the sums of the whole process, whatever was lost before it.
    CHECK(exit->account.cpu_ns == sent->second.cpu_ns);
    check_account(exit->account, sent->second);
    check_account(exit->program.account, sent->second);
  }
}

void run_with_seed(std::uint64_t seed) {
  CAPTURE(seed);
  Dice dice(seed);
  const Tree tree = make_tree(dice);
  const Faulty faulty = with_faults(tree.records, dice);

  SessionOptions options;
  options.reader = ReaderMode::kPoll;
  options.max_processes = dice.one_in(3) ? 5 : 1000;
  if (dice.one_in(3)) options.filter.include_exe("tool1");
  if (dice.one_in(3)) options.filter.exclude_exe("tool2");
  const bool all = options.filter.rules().empty();
  auto owned = std::make_unique<wire::WireSource>();
  wire::WireSource& source = *owned;
  Session session(tracer::Source(std::move(owned)), options);
  std::vector<Event> events;
  const Subscription subscription = session.on_any([&](const Event& event) { events.push_back(event); });
  session.start();
  std::uint64_t exits_sent = 0;
  for (const wire::Bytes& record : faulty.records) {
    tracer_wire_header header{};
    if (record.size() >= sizeof header) std::memcpy(&header, record.data(), sizeof header);
    if (header.kind == TRACER_WIRE_PROCESS_EXIT && header.size == record.size()) ++exits_sent;
    source.push(record);
    if (dice.one_in(20)) session.poll(std::chrono::milliseconds(0));
  }
  session.stop();

  for (const Event& event : events) check_event(event, tree);
  REQUIRE_FALSE(events.empty());
  CHECK(events.back().kind() == EventKind::kSessionEnd);
  CHECK(std::count_if(events.begin(), events.end(),
                      [](const Event& event) { return event.kind() == EventKind::kSessionEnd; }) == 1);
  const Statistics statistics = session.statistics();
  CHECK(statistics.records == faulty.records.size());
  CHECK(statistics.events == events.size());
  const auto malformed = statistics.losses.find("record_malformed");
  CHECK((malformed == statistics.losses.end() ? 0 : malformed->second) == faulty.malformed);
  CHECK(statistics.losses.count("record_unknown_kind") == 0);
  CHECK((*events.back().get_if<SessionEnd>()).losses == statistics.lost());
  const std::uint64_t exits = (*events.back().get_if<SessionEnd>()).exits_delivered;
  if (all) {
    CHECK(exits == exits_sent);
  } else {
    CHECK(exits <= exits_sent);
  }
}

}  // namespace

TEST_CASE("records that are dropped, doubled, cut and shuffled never harm what else is told") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) run_with_seed(seed);
}

TEST_CASE("records with random bytes changed never harm the session") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Dice dice(seed * 1000);
    const Tree tree = make_tree(dice);
    auto owned = std::make_unique<wire::WireSource>();
    wire::WireSource& source = *owned;
    Session session(tracer::Source(std::move(owned)), collect::polled());
    std::vector<Event> events;
    const Subscription subscription = session.on_any([&](const Event& event) { events.push_back(event); });
    session.start();
    for (wire::Bytes record : tree.records) {
      for (std::uint64_t n = dice.below(4); n > 0; --n)
        record[dice.below(record.size())] = static_cast<std::byte>(dice.below(256));
      source.push(record);
    }
    session.stop();
    for (const Event& event : events) CHECK_FALSE(to_json(event).empty());
    REQUIRE_FALSE(events.empty());
    CHECK(events.back().kind() == EventKind::kSessionEnd);
  }
}
