// SPDX-License-Identifier: Apache-2.0
#include "run/refuse_start.hpp"

#include <cerrno>
#include <cstdlib>

#include <tracer/error.hpp>

namespace tracer::internal {

void refuse_start(const std::string& name, int error_number) {
  if (error_number != ENOENT && error_number != ENOTDIR)
    throw Error({ErrorCode::kCommandNotExecutable,
                 error_number,
                 name + ": can't be executed",
                 "check that it is a program and that its execute permission is set",
                 {}});
  // Most have a secure_path that replaces it.
  const bool under_sudo = std::getenv("SUDO_UID") != nullptr || std::getenv("SUDO_USER") != nullptr;
  throw Error(
      {ErrorCode::kCommandNotFound,
       error_number,
       name + ": command not found",
       name.find_first_of(" |&;<>") != std::string::npos
           ? "no shell reads the command: tracerd run -- bash -c 'COMMAND'"
       : under_sudo && name.find('/') == std::string::npos
           ? "check its spelling; sudo does not pass on your PATH: use sudo env \"PATH=$PATH\" tracerd run ..., "
             "or, once, 'tracerd setup', and no sudo from then on"
           : "check its spelling and PATH; for a script, check that its interpreter exists",
       {}});
}

}  // namespace tracer::internal
