// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/refusal.hpp"

#include <cerrno>
#include <string>

#include "base/text.hpp"
#include "source/proc/user_namespace.hpp"

namespace tracer::internal {
namespace {

bool file_has(const char* file, const char* text) {
  const auto content = read_small_file(file);
  return content && content->find(text) != std::string::npos;
}

}  // namespace

const char* fix_of_refusal(int error_number) {
  if (error_number == ENOMEM) return "free some memory, or ask for a smaller ring and fewer processes";
  if (error_number == EPERM && in_user_namespace()) return kTraceFromOutside;
  if (file_has("/sys/kernel/security/lockdown", "[confidentiality]"))
    return "boot the kernel without lockdown=confidentiality, under which no program may read kernel memory";
  if (error_number == EPERM && file_has("/proc/self/status", "\nSeccomp:\t2"))
    return "let the container's seccomp profile allow bpf(): --security-opt seccomp=unconfined, or a profile with it";
  return nullptr;
}

}  // namespace tracer::internal
