// SPDX-License-Identifier: Apache-2.0
#include "serve/usage_totals.hpp"

#include <algorithm>
#include <utility>

#include "base/context_key.hpp"
#include "base/most_processes.hpp"
#include "base/sums.hpp"
#include "base/utf8.hpp"
#include "report/json_builder.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kOther = "other";

/// Root, what is nobody's, and accounts that no person has: by the ranges of Debian, Fedora and systemd.
bool is_system(uid_t uid) noexcept { return uid < 1000 || (uid >= 61184 && uid <= 65535); }

std::string_view text_of(const std::optional<std::string>& text) noexcept { return text ? *text : std::string_view(); }

/// Of what a user has named: equal texts stay equal, whoever prints them.
std::string bounded_name(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    const bool is_plain =
        length == 1 ? first >= 0x20 && first != 0x7f : length != 0 && steering_code(text.substr(0, length)) == 0;
    const std::string_view shown = is_plain ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    if (name.size() + shown.size() > UsageTotals::kMostNameBytes) return name + "…";
    name += shown;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return name;
}

void add_to(std::optional<std::uint64_t>& sum, std::uint64_t more) { sum = sum.value_or(0) + more; }

}  // namespace

UsageTotals::KnownFigures UsageTotals::figures_of(const Account& account) {
  return {least_cpu_ns(account), account.read_bytes, account.written_bytes};
}

template <class Row>
Row& UsageTotals::row(std::map<Key, Row>& rows, const Context& context, std::string_view name, uid_t owner) {
  Key key{{}, {}, is_system(owner)};
  // Outside of runs, a host has any number of tools.
  if (!innermost_key(context)) return rows[key];
  key.pipeline = bounded_name(text_of(context.pipeline));
  key.name = bounded_name(name);
  for (FairRoom* const room : {&room_, &other_room_}) {
    if (const auto known = rows.find(key); known != rows.end()) return known->second;
    if (room->has(owner, 1)) {
      room->hold(owner, 1);
      return rows[key];
    }
    key.name = kOther;
  }
  key.pipeline = kOther;
  return rows[key];
}

UsageTotals::Tool& UsageTotals::tool(const Context& context, const Program& program, uid_t owner) {
  return row(tools_, context, text_of(program.tool ? program.tool : program.comm), owner);
}

UsageTotals::Step& UsageTotals::step(const Context& context, uid_t owner) {
  return row(steps_, context, text_of(context.step), owner);
}

UsageTotals::Living* UsageTotals::living(const Process& process) {
  if (living_.size() >= kMostLivingProcesses && !living_.contains(process.pid)) return nullptr;
  Living& living = living_[process.pid];
  if (living.start_ns != process.start_ns) living = {.start_ns = process.start_ns};
  return &living;
}

UsageTotals::Tool& UsageTotals::used(Living& living, const KnownFigures& total, const Process& process,
                                     const Program& program, uid_t owner) {
  Tool& of_tool = tool(*process.context, program, owner);
  for (std::size_t i = 0; i < total.size(); ++i) {
    if (!total[i]) continue;
    const std::uint64_t more = *total[i] - std::min(*total[i], living.counted[i]);
    living.counted[i] += more;
    add_to(of_tool.used[i], more);
    if (i == 0 && innermost_key(*process.context)) add_to(step(*process.context, owner).cpu_ns, more);
  }
  return of_tool;
}

void UsageTotals::execed(const ProcessExec& exec, uid_t owner) {
  // What comes later is seen to grow from 0.
  tool(*exec.process->context, *exec.process->program, owner);
  // Of a command that was held, nothing had begun.
  Living* const of = exec.ended.start_ns ? living(*exec.process) : nullptr;
  if (of == nullptr) return;
  KnownFigures total = figures_of(exec.ended.account);
  for (std::size_t i = 0; i < total.size(); ++i)
    if (total[i]) total[i] = of->of_ended[i] += *total[i];
  used(*of, total, *exec.process, *exec.ended.program, owner);
}

void UsageTotals::ended(const ProcessExit& exit, uid_t owner) {
  const auto known = living_.extract(exit.process->pid);
  Living of;
  if (!known.empty() && known.mapped().start_ns == exit.process->start_ns) of = known.mapped();
  KnownFigures total = figures_of(exit.account);
  const KnownFigures last = figures_of(exit.program.account);
  for (std::size_t i = 0; i < total.size(); ++i)
    if (!total[i] && last[i]) total[i] = of.of_ended[i] + *last[i];
  Tool& of_tool = used(of, total, *exit.process, *exit.process->program, owner);
  ++of_tool.processes;
  if (exit.oom_killed) add_to(of_tool.oom_kills, *exit.oom_killed ? 1 : 0);
}

void UsageTotals::finished(const TaskFinish& finish, uid_t owner) {
  if (!finish.context->task_key) return;
  const auto key = static_cast<std::uint64_t>(*finish.context->task_key);
  const auto [at, fresh] = finished_.try_emplace(key);
  Step& of = step(*finish.context, owner);
  const std::uint64_t wall_ns = finish.end_ns - std::min(finish.end_ns, finish.begin_ns);
  of.wall_ns += wall_ns - std::min(wall_ns, at->second.wall_ns);
  at->second.wall_ns = std::max(at->second.wall_ns, wall_ns);
  if (finish.failed().value_or(false) && !std::exchange(at->second.failed, true)) ++of.failed;
  if (!fresh) return;
  ++of.tasks;
  finished_order_.push_back(key);
  if (finished_order_.size() <= kMostFinished) return;
  finished_.erase(finished_order_.front());
  finished_order_.pop_front();
}

void UsageTotals::failed(const Process& process, uid_t owner) {
  ++tool(*process.context, *process.program, owner).failed;
}

void UsageTotals::add(const Event& whole, uid_t owner) {
  // By the word of its process, which is counted itself.
  if (whole.kind() == EventKind::kOwnWork) return;
  const Event event = since_attach_.of(whole);
  if (const auto* exec = event.get_if<ProcessExec>()) execed(*exec, owner);
  if (const auto* exit = event.get_if<ProcessExit>()) ended(*exit, owner);
  if (const auto* start = event.get_if<TaskStart>()) step(*start->context, owner);
  if (const auto* finish = event.get_if<TaskFinish>()) finished(*finish, owner);
  const auto* sample = event.get_if<ProcessSample>();
  Living* const of = sample == nullptr ? nullptr : living(*sample->process);
  if (of != nullptr) used(*of, figures_of(sample->account), *sample->process, *sample->process->program, owner);
}

std::string UsageTotals::json(std::string_view host, std::span<const Event> living,
                              const std::function<uid_t(const Event&)>& owner_of) {
  std::array<std::uint64_t, 2> processes = {};
  for (auto& [key, each] : steps_) each.running = each.queued = 0;
  for (const Event& event : living) {
    const uid_t owner = owner_of(event);
    if (event.kind() == EventKind::kProcessStart) ++processes[is_system(owner) ? 0 : 1];
    if (const auto* start = event.get_if<TaskStart>()) ++step(*start->context, owner).running;
    const auto* submit = event.get_if<TaskSubmit>();
    if (submit != nullptr && submit->state == "submitted" && submit->context->task_key)
      ++step(*submit->context, owner).queued;
  }
  std::string text;
  JsonBuilder json(text);
  const auto put_rows = [&](std::string_view table, std::string_view name, const auto& rows, const auto& put_sums) {
    json.list(table, rows, [&](const auto& each) {
      json.object([&] {
        json.put("pipeline", each.first.pipeline);
        json.put(name, each.first.name);
        json.put("user_class", each.first.is_system ? "system" : "user");
        put_sums(each.second);
      });
    });
  };
  json.object([&] {
    json.put("host", host);
    json.object("processes", [&] {
      json.put("system", processes[0]);
      json.put("user", processes[1]);
    });
    put_rows("tools", "tool", tools_, [&](const Tool& each) {
      json.put("cpu_ns", each.used[0]);
      json.put("read_bytes", each.used[1]);
      json.put("written_bytes", each.used[2]);
      json.put("processes", each.processes);
      json.put("failed", each.failed);
      json.put("oom_kills", each.oom_kills);
    });
    put_rows("steps", "step", steps_, [&](const Step& each) {
      json.put("cpu_ns", each.cpu_ns);
      json.put("tasks", each.tasks);
      json.put("failed", each.failed);
      json.put("wall_ns", each.wall_ns);
      json.put("running", each.running);
      json.put("queued", each.queued);
    });
  });
  return text;
}

}  // namespace tracer::internal
