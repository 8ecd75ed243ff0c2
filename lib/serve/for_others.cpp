// SPDX-License-Identifier: Apache-2.0
#include "serve/for_others.hpp"

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tracer::internal {
namespace {

std::shared_ptr<const Program> without_arguments(const std::shared_ptr<const Program>& program) {
  if (!program->argv || program->argv->size() < 2) return program;
  auto masked = std::make_shared<Program>(*program);
  for (std::size_t i = 1; i < masked->argv->size(); ++i) (*masked->argv)[i] = "***";
  return masked;
}

template <class E>
Event without_context(const E& event) {
  E copy = event;
  if constexpr (requires { event.process->context; }) {
    auto process = std::make_shared<Process>(*event.process);
    process->context = Process::no_context();
    copy.process = std::move(process);
  } else {
    copy.context = Process::no_context();
  }
  return copy;
}

template <class E>
Event masked(const E& event) {
  E copy = event;
  auto process = std::make_shared<Process>(*event.process);
  process->program = without_arguments(process->program);
  copy.process = std::move(process);
  if constexpr (requires { copy.ended.program; }) copy.ended.program = without_arguments(copy.ended.program);
  if constexpr (requires { copy.program.program; }) copy.program.program = without_arguments(copy.program.program);
  return copy;
}

}  // namespace

Event for_owner(const Event& event, const Owner& owner, bool changed_user, const Ownership& ownership) {
  if (owner.audience != Audience::kOwner) return event;
  Event result = event;
  if (const auto* exec = event.get_if<ProcessExec>(); exec != nullptr && changed_user) {
    ProcessExec own = *exec;
    own.ended.program = Process::unknown_program();
    result = own;
  }
  const Event of_owner = result;
  visit(
      [&](const auto& body) {
        if constexpr (requires { body.process->uid; }) {
          if (!ownership.owns(owner, *body.process->context, body.process->uid)) result = without_context(body);
        } else if constexpr (std::same_as<std::remove_cvref_t<decltype(body)>, ToolSample>) {
          if (!ownership.owns(owner, *body.context, body.uid)) result = without_context(body);
        }
      },
      of_owner);
  const Event own = result;
  visit(
      [&](const auto& body) {
        if constexpr (requires { body.process->uid; })
          if (body.process->uid != owner.uid) result = masked(body);
      },
      own);
  return result;
}

}  // namespace tracer::internal
