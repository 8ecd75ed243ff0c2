// SPDX-License-Identifier: Apache-2.0
/// Events with every field, with none, and with awkward texts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tracer/event.hpp>

#include "base/event_fields.hpp"

namespace sample_events {

/// Gives each field a value of its own.
class Filler {
 public:
  void operator()(const char*, bool& value) { value = true; }
  template <std::integral T>
  void operator()(const char*, T& value) {
    value = static_cast<T>(++next_);
  }
  void operator()(const char* name, std::string& value) { value = std::string(name) + std::to_string(++next_); }
  void operator()(const char*, std::vector<std::string>& value) {
    value = {"plain", "", "\xff\xfe not utf-8", "ünï", std::string("quote\" \\ \n \x01", 13), std::string(5000, 'x')};
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& value) {
    (*this)(name, value.emplace());
  }
  template <class T>
  void group(const char*, T& member) {
    tracer::visit_fields(*this, member);
  }

 private:
  std::uint64_t next_ = 100;
};

template <class E>
E full() {
  E event;
  Filler filler;
  tracer::fill_event(filler, event);
  return event;
}

template <class E>
E bare() {
  E event;
  if constexpr (tracer::ProcessEvent<E>) event.process = std::make_shared<tracer::Process>();
  return event;
}

inline std::vector<tracer::Event> all() {
  using namespace tracer;
  ProcessExit texts = bare<ProcessExit>();
  Process process;
  process.pid = 0xffffffff;
  process.start_ns = 0xffffffffffffffff;
  process.exe = "";
  process.argv = std::vector<std::string>{};
  process.cwd = "/with\nline end \x80\xc0\xaf";
  texts.process = std::make_shared<const Process>(process);
  texts.start_ns = process.start_ns;
  texts.exit_signal = 9;
  texts.account.cpu_ns = 0;
  return {full<ProcessStart>(),
          full<ProcessExec>(),
          full<ProcessExit>(),
          full<ProcessSample>(),
          full<Loss>(),
          bare<ProcessStart>(),
          bare<ProcessExec>(),
          bare<ProcessExit>(),
          bare<ProcessSample>(),
          bare<Loss>(),
          texts,
          full<ToolSample>(),
          bare<ToolSample>(),
          full<CgroupSample>(),
          bare<CgroupSample>(),
          full<SessionEnd>()};
}

}  // namespace sample_events
