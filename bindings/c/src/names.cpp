// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string_view>

#include <tracer/context.hpp>
#include <tracer/event_kind.hpp>
#include <tracer/version.hpp>

#include "guard.hpp"

namespace {

using tracer::c::string_of;

struct StatusName {
  tracer_status status;
  std::string_view name;
};

constexpr std::array kStatusNames = {
    StatusName{TRACER_OK, "ok"},
    StatusName{TRACER_ERROR_INTERNAL, "TRC100"},
    StatusName{TRACER_ERROR_INVALID_ARGUMENT, "TRC101"},
    StatusName{TRACER_ERROR_PERMISSION, "TRC102"},
    StatusName{TRACER_ERROR_NO_BTF, "TRC103"},
    StatusName{TRACER_ERROR_KERNEL_TOO_OLD, "TRC104"},
    StatusName{TRACER_ERROR_PROGRAM_REFUSED, "TRC105"},
    StatusName{TRACER_ERROR_FILTER_NAMES_NOTHING, "TRC106"},
    StatusName{TRACER_ERROR_CONTRADICTION, "TRC107"},
    StatusName{TRACER_ERROR_NO_MEMORY, "TRC108"},
    StatusName{TRACER_ERROR_OVER_BUDGET, "TRC109"},
    StatusName{TRACER_ERROR_FILE_UNREADABLE, "TRC110"},
    StatusName{TRACER_ERROR_NOT_A_RECORDING, "TRC111"},
    StatusName{TRACER_ERROR_NEWER_SCHEMA, "TRC112"},
    StatusName{TRACER_ERROR_CORRUPT_RECORDING, "TRC113"},
    StatusName{TRACER_ERROR_FILE_UNWRITABLE, "TRC114"},
    StatusName{TRACER_ERROR_INVALID_RULES, "TRC115"},
    StatusName{TRACER_ERROR_IN_CALLBACK, "TRC116"},
    StatusName{TRACER_ERROR_OLDER_SCHEMA, "TRC117"},
    StatusName{TRACER_ERROR_PID_NAMESPACE, "TRC118"},
    StatusName{TRACER_ERROR_NO_GPU, "TRC119"},
    StatusName{TRACER_ERROR_COMMAND_NOT_FOUND, "TRC120"},
    StatusName{TRACER_ERROR_COMMAND_NOT_EXECUTABLE, "TRC121"},
    StatusName{TRACER_ERROR_NO_SUCH_USER, "TRC122"},
    StatusName{TRACER_ERROR_NO_SERVICE, "TRC140"},
    StatusName{TRACER_ERROR_SERVICE_VERSION, "TRC141"},
    StatusName{TRACER_ERROR_SERVICE_REFUSED, "TRC142"},
    StatusName{TRACER_ABSENT, "absent"},
    StatusName{TRACER_WRONG_KIND, "wrong kind"},
    StatusName{TRACER_WRONG_TYPE, "wrong type"},
    StatusName{TRACER_NO_SUCH_FIELD, "no such field"},
    StatusName{TRACER_OUT_OF_RANGE, "out of range"},
    StatusName{TRACER_TIMED_OUT, "timed out"},
    StatusName{TRACER_ENDED, "ended"},
    StatusName{TRACER_FORKED, "forked"},
    StatusName{TRACER_WRONG_SIZE, "wrong size"},
    StatusName{TRACER_REAPED, "reaped"},
};

}  // namespace

uint32_t tracer_abi_version(void) { return TRACER_ABI_VERSION; }

tracer_string tracer_version(void) { return string_of(std::string_view(TRACER_VERSION)); }

tracer_string tracer_status_name(tracer_status status) {
  for (const StatusName& each : kStatusNames)
    if (each.status == status) return string_of(each.name);
  return {"", 0};
}

tracer_string tracer_event_kind_name(tracer_event_kind kind) {
  const std::string_view name = to_string(static_cast<tracer::EventKind>(kind));
  return name.empty() ? tracer_string{"", 0} : string_of(name);
}

tracer_string tracer_provenance_name(tracer_provenance provenance) {
  const std::string_view name = to_string(static_cast<tracer::Provenance>(provenance));
  return name.empty() ? tracer_string{"", 0} : string_of(name);
}
