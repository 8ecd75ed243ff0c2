// SPDX-License-Identifier: Apache-2.0
#include "context/engine_trial.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <tracer/check.hpp>

#include "base/context_fields.hpp"
#include "context/context_resolver.hpp"
#include "rules/rules_file.hpp"
#include "rules/tool_rules.hpp"

namespace tracer {
namespace internal {
namespace {

constexpr std::uint32_t kFirstPid = 100;

std::shared_ptr<const Process> process_of(const ExampleProcess& example, std::uint32_t pid) {
  auto program = std::make_shared<Program>();
  program->exe = example.exe;
  program->argv = example.argv;
  if (!example.cwd.empty()) program->cwd = example.cwd;
  program->tool = ToolRules::builtin().name(example.exe, example.argv, "");
  auto process = std::make_shared<Process>();
  process->pid = pid;
  process->start_ns = pid;
  process->program = std::move(program);
  auto cgroup = std::make_shared<Cgroup>();
  if (!example.cgroup.empty()) cgroup->path = example.cgroup;
  process->cgroup = std::move(cgroup);
  return process;
}

std::string value_of(const Context& context, std::string_view name, const std::string& rule) {
  if (name == "rule") return rule;
  if (name == "own") return context.engine_own ? "true" : "false";
  if (name == "within") return context.within.value_or("");
  if (name == "attempt") return context.attempt ? std::to_string(*context.attempt) : "";
  for (const Label& label : context.labels)
    if ("label." + label.name == name) return label.value;
  for (const ContextField& field : kContextFields)
    if (field.name == name) return (context.*field.value).value_or("");
  return "";
}

std::optional<std::vector<std::string>> lines_of(const EngineExample& example, const NoteRequest& request) {
  const auto found = example.notes.find(request.path);
  if (found == example.notes.end()) return std::nullopt;
  std::vector<std::string> lines;
  std::istringstream text(found->second);
  for (std::string line; lines.size() < request.most_lines && std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<Problem> try_examples(const EngineRules& rules, std::span<const EngineExample> examples,
                                  std::string_view origin) {
  std::vector<Problem> problems;
  const std::shared_ptr<const EngineRules> borrowed(std::shared_ptr<const EngineRules>(), &rules);
  const std::shared_ptr<const ToolRules> tools(std::shared_ptr<const ToolRules>(), &ToolRules::builtin());
  for (const EngineExample& example : examples) {
    ContextResolver resolver(
        borrowed, tools,
        [&](const std::string&, const NoteQuestion& question) {
          return look_up(question, [&](const NoteRequest& request, const Process&) -> NoteAnswer {
            return {.lines = lines_of(example, request)};
          });
        },
        1, KeyOrigin());
    ContextPlace place;
    std::shared_ptr<const Process> process = process_of({}, kFirstPid);
    for (const ExampleProcess& each : example.processes) {
      place = resolver.child_of(place, process);
      process = process_of(each, process->pid + 1);
      resolver.executes(place, process);
    }
    const auto context = resolver.context_of(place, *process);
    const std::string rule = place.rule ? rules.rules()[*place.rule].name : "";
    for (const auto& [name, wanted] : example.expect)
      if (const std::string value = value_of(*context, name, rule); value != wanted)
        problems.push_back({ErrorCode::kInvalidRules,
                            0,
                            fmt::format("{}:{}: a test of \"{}\": {} is \"{}\", not \"{}\"", origin, example.line,
                                        example.rule, name, value, wanted),
                            {},
                            {}});
  }
  return problems;
}

}  // namespace internal

void check_engine_rules(const std::filesystem::path& file) {
  using internal::EngineRules;
  const EngineRules rules = EngineRules::load(file);
  const std::string text = internal::read_rules_file(file);
  std::vector<Problem> problems =
      internal::try_examples(rules, internal::read_engine_examples(text, file.string()), file.string());
  if (!problems.empty()) throw Error(std::move(problems));
}

}  // namespace tracer
