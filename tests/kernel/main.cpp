// SPDX-License-Identifier: Apache-2.0
/// The suite of a case holds words that scripts/test chooses by:
///   waits      it only waits: it may run beside others. A case that measures CPU time runs alone.
///   native     one kernel is as good as another: it does not run on emulated ones.
///   essential  together a way through the whole library: runs in `scripts/test quick`.
///   sanitized  runs under the sanitizers, too: their memory and slowness are no error.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>
#include <cstring>

#include <doctest/doctest.h>

#include "truth.hpp"

int main(int argc, char** argv) {
  const int status = truth::run(argc, argv);
  if (status >= 0) return status;
  // Under emulation times mean less, and there is a disk to write on.
  if (argc > 1 && std::strcmp(argv[1], "--emulated") == 0) ::setenv("TRACER_EMULATED", "1", 1);
  doctest::Context context(argc, argv);
  return context.run();
}
