// SPDX-License-Identifier: Apache-2.0
#include "serve/for_others.hpp"

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/evidence_text.hpp"
#include "base/text.hpp"

namespace tracer::internal {
namespace {

constexpr const char* kHidden = "***";

std::shared_ptr<const Program> without_arguments(const std::shared_ptr<const Program>& program) {
  if (!program->argv || program->argv->size() < 2) return program;
  auto masked = std::make_shared<Program>(*program);
  for (std::size_t i = 1; i < masked->argv->size(); ++i) (*masked->argv)[i] = kHidden;
  return masked;
}

/// Of a program that another user executed.
std::shared_ptr<const Program> without_paths(const std::shared_ptr<const Program>& program) {
  auto masked = std::make_shared<Program>(*without_arguments(program));
  masked->exe.reset();
  masked->cwd.reset();
  if (masked->argv && !masked->argv->empty()) masked->argv->front() = base_name(masked->argv->front());
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

/// Replaces what a finding says of these in words.
Finding without_paths(Finding finding) {
  for (Evidence& evidence : finding.evidence) {
    if (evidence.name != "path" && evidence.name != "mount_point" && evidence.name != "mount") continue;
    const std::string said = format_evidence(evidence);
    for (std::string* const text : {&finding.text, &finding.advice})
      for (std::size_t at = 0; !said.empty() && (at = text->find(said, at)) != std::string::npos;)
        text->replace(at, said.size(), kHidden);
    evidence.text = kHidden;
  }
  return finding;
}

/// As those of which the kernel tells no more.
Event without_paths(FileUse use) {
  use.path.reset();
  use.path_at.reset();
  use.path_cut = false;
  use.renamed_to.reset();
  use.device.reset();
  use.inode.reset();
  use.generation.reset();
  use.size_bytes.reset();
  use.filesystem.reset();
  if (!use.folded) use.folded = "others";
  return use;
}

Event without_addresses(Connection connection) {
  connection.remote_address.reset();
  connection.remote_port.reset();
  connection.local_address.reset();
  connection.local_port.reset();
  connection.folded = "others";
  return connection;
}

/// Hides from an owner what another user's rights have shown.
class Mask {
 public:
  Mask(const Owner& owner, const Ownership& ownership) : owner_(owner), ownership_(ownership) {}

  /// Absent: there is nothing to hide.
  template <class E>
  std::optional<Event> hidden(const E& event) const {
    if constexpr (std::same_as<E, Finding>) {
      for (const Evidence& each : event.evidence)
        if (each.name == "euid" && !is_own(each.value)) return without_paths(event);
      return std::nullopt;
    } else if constexpr (requires { event.process->program; }) {
      const bool all_own = is_own(*event.process->program, *event.process) && event.process->uid == owner_.uid;
      if (all_own && is_rest_own(event)) return std::nullopt;
      return without_programs(event);
    } else {
      return std::nullopt;
    }
  }

 private:
  bool is_own(const std::optional<std::uint64_t>& uid) const {
    return uid == owner_.uid || (uid && ownership_.is_own(owner_, static_cast<uid_t>(*uid)));
  }
  bool is_own(const Program& program, const Process& process) const {
    return is_own(process.uid) && (!program.exec_euid || is_own(program.exec_euid));
  }
  template <class E>
  bool is_rest_own(const E& event) const {
    if constexpr (requires { event.euid; }) return is_own(event.euid);
    if constexpr (requires { event.ended.program; }) return is_own(*event.ended.program, *event.process);
    if constexpr (requires { event.program.program; }) return is_own(*event.program.program, *event.process);
    return true;
  }
  std::shared_ptr<const Program> shown(const std::shared_ptr<const Program>& program, const Process& process) const {
    if (program == Process::unknown_program()) return program;
    if (!is_own(*program, process)) return without_paths(program);
    return process.uid == owner_.uid ? program : without_arguments(program);
  }
  template <class E>
  Event without_programs(E event) const {
    const Process& process = *event.process;
    if constexpr (requires { event.ended.program; }) event.ended.program = shown(event.ended.program, process);
    if constexpr (requires { event.program.program; }) event.program.program = shown(event.program.program, process);
    if constexpr (requires { event.progress->file; })
      if (!is_own(*process.program, process)) event.progress.reset();
    auto masked = std::make_shared<Process>(process);
    masked->program = shown(process.program, process);
    event.process = std::move(masked);
    if constexpr (std::same_as<E, FileUse>) {
      if (!is_own(event.euid)) return without_paths(std::move(event));
    } else if constexpr (std::same_as<E, Connection>) {
      if (!is_own(event.euid)) return without_addresses(std::move(event));
    }
    return event;
  }

  const Owner owner_;
  const Ownership& ownership_;
};

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
        if (auto hidden = Mask(owner, ownership).hidden(body)) result = *std::move(hidden);
      },
      own);
  return result;
}

}  // namespace tracer::internal
