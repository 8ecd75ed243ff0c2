// SPDX-License-Identifier: Apache-2.0
#include "serve/for_others.hpp"

#include <memory>
#include <string>
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

Event for_owner(const Event& event, const Owner& owner) {
  Event result = event;
  if (owner.audience != Audience::kOwner) return result;
  visit(
      [&](const auto& body) {
        if constexpr (requires { body.process->uid; })
          if (body.process->uid != owner.uid) result = masked(body);
      },
      event);
  return result;
}

}  // namespace tracer::internal
