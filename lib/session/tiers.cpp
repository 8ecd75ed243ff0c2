// SPDX-License-Identifier: Apache-2.0
#include "session/tiers.hpp"

#include <string>
#include <utility>

#include "session/session_setup.hpp"
#include "source/client/service_source.hpp"
#include "source/kernel/kernel_source.hpp"
#include "source/proc/proc_source.hpp"

namespace tracer::internal {
namespace {

std::unique_ptr<Source> open_tier(Tier tier, const SessionOptions& options, ContextTable& contexts) {
  if (tier == Tier::kKernel) return kernel_source(kernel_options(options, contexts));
  if (tier == Tier::kService)
    return service_source({options.service_socket, options.filter, options.command_pid, options.families});
  if (tier == Tier::kProc) return proc_source({request_of(options, contexts)});
  throw Error({ErrorCode::kInvalidArgument,
               0,
               "\"" + std::string(to_string(tier)) + "\" is no tier that a session can choose",
               "leave it out of SessionOptions::tiers",
               {}});
}

/// What another tier may do without. Other mistakes are the caller's, whatever the tier.
bool is_of_the_tier(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kPermission:
    case ErrorCode::kNoBtf:
    case ErrorCode::kKernelTooOld:
    case ErrorCode::kProgramRefused:
    case ErrorCode::kNoMemory:
    case ErrorCode::kPidNamespace:
    case ErrorCode::kNoService:
    case ErrorCode::kServiceVersion:
    case ErrorCode::kServiceRefused: return true;
    default: return false;
  }
}

}  // namespace

std::unique_ptr<Source> open_source(const SessionOptions& options, ContextTable& contexts,
                                    std::vector<Problem>& problems) {
  for (const Tier tier : options.tiers) {
    try {
      return open_tier(tier, options, contexts);
    } catch (const Error& error) {
      if (options.tiers.size() == 1 || !is_of_the_tier(error.code())) throw;
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (problems.empty())
    throw Error({ErrorCode::kInvalidArgument, 0, "a session of no tier", "name one in SessionOptions::tiers", {}});
  throw Error(std::exchange(problems, {}));
}

}  // namespace tracer::internal
