// SPDX-License-Identifier: Apache-2.0
/// What the end of a process is by itself, and what it shows of a child's. FailureChains decides what becomes of it.
#pragma once

#include <cstdint>
#include <optional>

#include <tracer/event.hpp>

namespace tracer::internal {

enum class EndNature : std::uint8_t {
  kFailure,
  kAnswer,  ///< Its status answers a question, or it was only asked what it is, or it has executed nothing.
  kReaderLeft,
  kEndedByStarter,
  kServiceOver,  ///< Its engine has ended it when nobody needed it any more.
};

/// By its executable.
bool is_shell(const Program& program);
inline bool is_shell(const Process& process) { return is_shell(*process.program); }
/// It has executed nothing since its fork: a subshell, for example.
bool is_copy(const ProcessExit& exit);
/// What runs a command as its child, and ends with its status, such as `timeout`; or a shell with the command in its
/// arguments.
bool only_wraps(const ProcessExit& exit);
/// It runs many commands, whatever becomes of each, and shows by its status that some have failed.
bool runs_all(const Process& process);
/// What handlers of errors run: it ends, removes, keeps or reports something. No work.
bool cleans_up(const Process& process);
/// Of these, what ends or removes something: it is no cause, either.
bool ends_others(const Process& process);
/// Of a pool of Python: a copy of its parent, or one that is spawned as such.
bool is_worker(const ProcessExit& exit);
/// It used little CPU time, wrote little, and waited for no long work of its children.
bool is_brief(const ProcessExit& exit);
/// It lacks a shared library: the loader has ended it before it began.
bool could_not_load(const Process& process, const ProgramAccount& program, std::int32_t exit_code);
/// It was on a CPU, waited for one, or for storage, for nearly all of its life.
bool was_at_work(const ProcessExit& exit);

inline bool ended_well(const ProcessExit& exit) { return !exit.exit_signal && exit.exit_code.value_or(0) == 0; }

/// How a child has ended, for its parent.
struct ChildEnd {
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> exit_signal;
  std::optional<std::uint32_t> sender_pid;
};
/// Shows the parent's status what became of the child?
bool same_end(const ProcessExit& parent, const ChildEnd& child);
/// The parent's status says nothing of which of its children it comes from.
bool is_common(const ProcessExit& parent);

/// `by_starter`: what has sent the signal stands above it, or belongs to its run; `by_service_engine`: an engine that
/// ends nothing but services.
EndNature nature_of(const ProcessExit& exit, bool by_starter, bool by_service_engine);

}  // namespace tracer::internal
