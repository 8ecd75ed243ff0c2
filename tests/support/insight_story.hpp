// SPDX-License-Identifier: Apache-2.0
/// One task whose processes are sampled each second, and the findings that follow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "builders.hpp"
#include "insight/insight.hpp"

namespace story {

constexpr std::uint64_t kSecond = 1'000'000'000;

inline tracer::Context task_context(std::uint64_t key = 7) {
  tracer::Context context;
  context.run_id = "r1";
  context.run_key = tracer::Key{1};
  context.task_id = "t" + std::to_string(key);
  context.task = "ALIGN (S" + std::to_string(key) + ")";
  context.task_key = tracer::Key{key};
  return context;
}

/// Where the time of a process goes, for each second of it, in thousandths. The rest is `other`.
struct Pace {
  std::uint64_t running = 0;
  std::uint64_t run_queue = 0;
  std::uint64_t disk = 0;
  std::uint64_t network = 0;
  std::uint64_t throttled = 0;
  std::uint64_t reclaim = 0;
  std::uint64_t swap = 0;
  std::uint64_t pipe_read = 0;
  std::uint64_t pipe_write = 0;
  std::uint64_t lock = 0;
  std::uint64_t sleep = 0;
  std::uint64_t child = 0;
  std::uint64_t poll = 0;
  std::uint64_t threads = 1;
  std::uint64_t thread_cpu = 0;    ///< Of all threads; 0: as running.
  std::uint64_t thread_queue = 0;  ///< Likewise, as run_queue.
  std::uint64_t thread_lock = 0;
  std::uint64_t switches = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t read_calls = 0;
  std::uint64_t system = 0;
  std::uint64_t network_bytes = 0;
  std::optional<std::uint32_t> reads_from = {};
  std::optional<std::uint32_t> writes_to = {};
  std::optional<std::string> device = {};  ///< For which it waits, of the waits for disks.
  std::uint64_t device_percent = 100;      ///< Of these that are known to be for it.
};

struct Player {
  std::uint32_t pid = 0;
  std::string tool;
  Pace pace = {};
  std::optional<std::uint32_t> parent = {};
  tracer::Context context = task_context();
  std::uint64_t begin_ns = 1;
  tracer::Account account = {};
  bool living = true;
  std::optional<std::uint32_t> uid = {};
};

class Task {
 public:
  /// `history`: as of Insight::use(); null: none.
  explicit Task(std::uint32_t cpus = 2, const tracer::Context& context = task_context(),
                std::unique_ptr<tracer::internal::SessionHistory> history = nullptr)
      : insight_(std::make_unique<tracer::internal::Insight>(cpus)), context_(context) {
    if (history) insight_->use(std::move(history), 0);
    tracer::TaskStart start;
    start.time_ns = start.start_ns = 1;
    start.context = std::make_shared<const tracer::Context>(context_);
    start.pid = 1;
    add(start);
  }

  void begin(Player player) {
    player.begin_ns = std::max<std::uint64_t>(now_ns_, 1);
    player.account.cpu_ns = player.account.system_ns = player.account.read_bytes = player.account.written_bytes = 0;
    player.account.read_calls = player.account.write_calls = player.account.voluntary_switches = 0;
    player.account.network_sent_bytes = player.account.network_received_bytes = 0;
    player.account.ledger.emplace();
    player.account.process_ledger.emplace();
    player.account.process_ledger->throttled_ns = 0;
    add(tracer::ProcessStart{player.begin_ns, process(player), {}});
    players_.push_back(std::move(player));
  }
  /// It begins its program anew, and may run on so many CPUs.
  void execute(std::uint32_t pid, std::uint32_t cpus_allowed) {
    tracer::ProcessExec exec;
    exec.time_ns = std::max<std::uint64_t>(now_ns_, 1);
    exec.process = process(player(pid));
    exec.ended.start_ns = player(pid).begin_ns;
    exec.cpus_allowed = cpus_allowed;
    add(exec);
  }
  Pace& pace(std::uint32_t pid) { return player(pid).pace; }
  tracer::internal::Insight& insight() { return *insight_; }

  /// Goes on so many rounds, with a snapshot at the end of each.
  void live(std::uint64_t rounds, std::uint64_t round_ns = kSecond) {
    for (; rounds > 0; --rounds) {
      now_ns_ += round_ns;
      std::uint64_t processes = 0;
      for (Player& each : players_) {
        if (!each.living) continue;
        spend(each, each.begin_ns == 1 && now_ns_ == round_ns ? round_ns - 1 : round_ns);
        tracer::ProcessSample sample;
        sample.time_ns = now_ns_;
        sample.process = process(each);
        sample.threads = each.pace.threads;
        sample.account = each.account;
        set_device(each, sample);
        add(sample);
        ++processes;
      }
      add(tracer::SnapshotEnd{now_ns_, processes});
    }
  }
  void end(std::uint32_t pid) {
    Player& who = player(pid);
    who.living = false;
    tracer::ProcessExit exit;
    exit.time_ns = exit.end_ns = now_ns_;
    exit.process = process(who);
    exit.start_ns = exit.begin_ns = who.begin_ns;
    exit.exit_code = 0;
    exit.account = exit.program.account = who.account;
    set_device(who, exit);
    exit.program.start_ns = who.begin_ns;
    exit.program.end_ns = now_ns_;
    add(exit);
    ++ended_;
  }
  /// Ends what lives, and the task.
  void finish() {
    for (Player& each : players_)
      if (each.living) end(each.pid);
    tracer::TaskFinish finish;
    finish.time_ns = finish.end_ns = now_ns_;
    finish.context = std::make_shared<const tracer::Context>(context_);
    finish.pid = 1;
    finish.start_ns = finish.begin_ns = 1;
    finish.exit_code = 0;
    finish.totals.processes = ended_;
    add(finish);
  }
  void add(tracer::Event event) {
    std::vector<tracer::Event> out;
    insight_->add(std::move(event), out);
    for (const tracer::Event& each : out)
      if (const auto* finding = each.get_if<tracer::Finding>()) findings.push_back(*finding);
  }

  /// The last report with this code; null: none.
  const tracer::Finding* last(std::string_view code) const {
    for (auto each = findings.rbegin(); each != findings.rend(); ++each)
      if (each->code == code) return &*each;
    return nullptr;
  }
  std::uint64_t now_ns() const { return now_ns_; }
  std::vector<tracer::Finding> findings;

 private:
  static std::shared_ptr<const tracer::Process> process(const Player& player) {
    return build::process({.pid = player.pid,
                           .start_ns = player.begin_ns,
                           .parent_pid = player.parent,
                           .uid = player.uid,
                           .tool = player.tool,
                           .context = player.context});
  }
  Player& player(std::uint32_t pid) {
    for (Player& each : players_)
      if (each.pid == pid && each.living) return each;
    std::abort();
  }
  template <class E>
  static void set_device(const Player& player, E& event) {
    if (!player.pace.device) return;
    event.disk_wait_device = player.pace.device;
    event.disk_wait_device_ns = player.account.ledger->disk_ns * player.pace.device_percent / 100;
  }
  static void spend(Player& player, std::uint64_t length_ns) {
    const Pace& pace = player.pace;
    const auto part = [length_ns](std::uint64_t thousandths) { return length_ns / 1000 * thousandths; };
    tracer::ProcessLedger& process = *player.account.process_ledger;
    process.running_ns += part(pace.running);
    process.run_queue_ns += part(pace.run_queue);
    process.disk_ns += part(pace.disk);
    player.account.ledger->disk_ns += part(pace.disk);
    process.network_ns += part(pace.network);
    *process.throttled_ns += part(pace.throttled);
    process.reclaim_ns += part(pace.reclaim);
    process.swap_ns += part(pace.swap);
    process.pipe_read_ns += part(pace.pipe_read);
    process.pipe_write_ns += part(pace.pipe_write);
    process.pipe_ns = process.pipe_read_ns + process.pipe_write_ns;
    process.lock_ns += part(pace.lock);
    process.sleep_ns += part(pace.sleep);
    process.child_ns += part(pace.child);
    process.poll_ns += part(pace.poll);
    process.life_ns += length_ns;
    process.other_ns += length_ns - part(pace.running + pace.run_queue + pace.disk + pace.network + pace.throttled +
                                         pace.reclaim + pace.swap + pace.pipe_read + pace.pipe_write + pace.lock +
                                         pace.sleep + pace.child + pace.poll);
    tracer::Ledger& threads = *player.account.ledger;
    threads.cpu_ns += part(pace.thread_cpu ? pace.thread_cpu : pace.running);
    threads.run_queue_ns += part(pace.thread_queue ? pace.thread_queue : pace.run_queue);
    threads.lock_ns += part(pace.thread_lock ? pace.thread_lock : pace.lock);
    threads.wall_ns += length_ns * pace.threads;
    threads.pipe_read_ns = process.pipe_read_ns;
    threads.pipe_write_ns = process.pipe_write_ns;
    threads.pipe_ns = process.pipe_ns;
    threads.pipe_read_peer_pid = pace.reads_from;
    threads.pipe_write_peer_pid = pace.writes_to;
    tracer::Account& account = player.account;
    *account.cpu_ns = threads.cpu_ns;
    *account.system_ns += part(pace.system);
    *account.read_bytes += pace.read_bytes;
    *account.read_calls += pace.read_calls;
    *account.voluntary_switches += pace.switches;
    *account.network_received_bytes += pace.network_bytes;
  }

  std::unique_ptr<tracer::internal::Insight> insight_;
  tracer::Context context_;
  std::vector<Player> players_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t ended_ = 0;
};

inline std::uint64_t value(const tracer::Finding& finding, std::string_view name) {
  for (const tracer::Evidence& each : finding.evidence)
    if (each.name == name) return each.value.value_or(0);
  return 0;
}
inline std::string text(const tracer::Finding& finding, std::string_view name) {
  for (const tracer::Evidence& each : finding.evidence)
    if (each.name == name) return each.text.value_or("");
  return {};
}

}  // namespace story
