// SPDX-License-Identifier: Apache-2.0
/// Runs of real engines, as tests/engines has seen them, through the rules of today: tests/data/engines.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/context_fields.hpp"
#include "context/context_resolver.hpp"
#include "in_repository.hpp"
#include "rules/rules_reader.hpp"
#include "rules/tool_rules.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

std::vector<std::string> strings(const toml::table& table, const char* key) {
  std::vector<std::string> all;
  if (const toml::array* array = table[key].as_array())
    for (const toml::node& node : *array) all.push_back(node.value_or(std::string()));
  return all;
}

std::string value_of(const Context& context, std::string_view name) {
  if (name == "own") return context.engine_own ? "true" : "false";
  if (name == "attempt") return context.attempt ? std::to_string(*context.attempt) : "";
  for (const ContextField& field : kContextFields)
    if (field.name == name) return (context.*field.value).value_or("");
  return "";
}

/// Processes as events tell of them, each in its place.
class Replay {
 public:
  explicit Replay(const toml::table& run)
      : notes_(notes_in(run)),
        resolver_(
            std::shared_ptr<const EngineRules>(std::shared_ptr<const EngineRules>(), &EngineRules::builtin()),
            std::shared_ptr<const ToolRules>(std::shared_ptr<const ToolRules>(), &ToolRules::builtin()),
            [this](const std::string&, const NoteQuestion& question) {
              return look_up(question, [this](const NoteRequest& request, const Process&) { return answer(request); });
            },
            1, internal::KeyOrigin()) {}

  void add(const toml::table& event) {
    const auto pid = event["pid"].value_or(std::uint32_t{0});
    const std::string kind = event["kind"].value_or(std::string());
    Known& known = known_[pid];
    if (kind == "start") {
      auto process = std::make_shared<Process>();
      process->pid = pid;
      process->start_ns = pid;
      const auto parent = known_.find(event["parent"].value_or(std::uint32_t{0}));
      if (parent != known_.end()) {
        process->program = parent->second.process->program;
        known.place = resolver_.child_of(parent->second.place, parent->second.process);
      }
      process->cgroup = cgroup_of(event);
      known.process = std::move(process);
    } else if (kind == "exec") {
      auto process = std::make_shared<Process>(*known.process);
      process->program = program_of(event);
      process->cgroup = cgroup_of(event);
      resolver_.executes(known.place, process);
      known.process = std::move(process);
    } else {
      resolver_.read_again(known.place, *known.process);
      check(event, *resolver_.context_of(known.place, *known.process));
      const auto status = event["status"].value_or(std::int32_t{0});
      resolver_.ended(known.place, *known.process, status, std::nullopt);
    }
  }
  std::size_t checked() const noexcept { return checked_; }

 private:
  struct Known {
    std::shared_ptr<const Process> process = std::make_shared<const Process>();
    ContextPlace place = {};
  };

  static std::map<std::string, std::vector<std::string>> notes_in(const toml::table& run) {
    std::map<std::string, std::vector<std::string>> notes;
    if (const toml::array* array = run["note"].as_array())
      for (const toml::node& node : *array)
        notes.emplace((*node.as_table())["path"].value_or(std::string()), strings(*node.as_table(), "lines"));
    return notes;
  }
  NoteAnswer answer(const NoteRequest& request) const {
    const auto note = notes_.find(request.path);
    // They are as they were at the end.
    return note == notes_.end() ? NoteAnswer{} : NoteAnswer{.lines = note->second, .in_time = false};
  }
  static std::shared_ptr<const Cgroup> cgroup_of(const toml::table& event) {
    auto cgroup = std::make_shared<Cgroup>();
    cgroup->path = event["cgroup"].value_or(std::string());
    return cgroup;
  }
  static std::shared_ptr<const Program> program_of(const toml::table& event) {
    auto program = std::make_shared<Program>();
    program->exe = event["exe"].value_or(std::string());
    program->argv = strings(event, "argv");
    program->cwd = event["cwd"].value_or(std::string());
    program->tool = ToolRules::builtin().name(*program->exe, *program->argv, "");
    return program;
  }
  void check(const toml::table& event, const Context& context) {
    ++checked_;
    CAPTURE(event["pid"].value_or(0));
    for (const auto& [name, wanted] : *event["expect"].as_table()) {
      CAPTURE(std::string(name.str()));
      CHECK(value_of(context, name.str()) == wanted.value_or(std::string()));
    }
  }

  const std::map<std::string, std::vector<std::string>> notes_;
  ContextResolver resolver_;
  std::map<std::uint32_t, Known> known_;
  std::size_t checked_ = 0;
};

}  // namespace

TEST_CASE("each process of the engines' recorded runs has the place that it had") {
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(in_repository("tests/data/engines"))) {
    CAPTURE(file.path().filename().string());
    const std::string text = read_rules_file(file.path());
    read_rules(text, file.path().string(), [&](const toml::table& run, RuleMistakes&) {
      Replay replay(run);
      for (const toml::node& event : *run["event"].as_array()) replay.add(*event.as_table());
      CHECK(replay.checked() > 10);
    });
    ++files;
  }
  CHECK(files >= 5);
}
