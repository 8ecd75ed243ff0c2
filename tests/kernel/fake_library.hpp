// SPDX-License-Identifier: Apache-2.0
/// tests/support/fake_cuda.c as a library of the system, which this static program maps without a loader.
#pragma once

#include <cstdint>
#include <string>

namespace fake_library {

/// While it lives, this process and those that it starts see the library in a folder where drivers' libraries are
/// looked for, and nothing else there.
class Installed {
 public:
  Installed();
  ~Installed();
  Installed(const Installed&) = delete;
  Installed& operator=(const Installed&) = delete;

  static constexpr const char* kPath = "/usr/local/lib/libcuda.so.1";
};

/// The file at kPath, mapped into this process.
class Mapped {
 public:
  Mapped();
  /// -1, too, where there is no such function.
  template <class... Arguments>
  int call(const std::string& name, Arguments... arguments) const {
    const std::uintptr_t function = address_of(name);
    if (function == 0) return -1;
    return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
  }

 private:
  std::uintptr_t address_of(const std::string& name) const;

  std::string bytes_;
  std::uintptr_t base_ = 0;
};

}  // namespace fake_library
