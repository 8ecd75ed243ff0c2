// SPDX-License-Identifier: Apache-2.0
/// Events with every field, with none, and with awkward texts.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/event.hpp>

#include "base/event_schema.hpp"
#include "base/leaves.hpp"

namespace sample_events {

/// Gives each field a value of its own.
class Filler {
 public:
  template <tracer::internal::Described T>
  void fill(T& value) {
    tracer::internal::each_field<T>(
        [&](const auto& described) { fill_member(described.name, value.*described.member); });
  }

 private:
  template <class M>
  void fill_member(const char* name, M& member) {
    using T = tracer::internal::Inner<M>;
    if constexpr (tracer::internal::kIsListOfStructs<M>) {
      for (T& each : member = M(3)) fill(each);
    } else if constexpr (tracer::internal::kIsShared<M>) {
      T inner;
      fill(inner);
      member = std::make_shared<const T>(std::move(inner));
    } else if constexpr (tracer::internal::kIsOptional<M>) {
      fill_member(name, member.emplace());
    } else if constexpr (tracer::internal::Described<M>) {
      fill(member);
    } else {
      set(name, member);
    }
  }
  void set(const char*, bool& value) { value = true; }
  template <std::integral T>
  void set(const char*, T& value) {
    value = static_cast<T>(++next_);
  }
  template <tracer::internal::NamedEnum T>
  void set(const char*, T& value) {
    value = std::is_same_v<T, tracer::EventKind> ? static_cast<T>(tracer::EventKind::kProcessExit) : static_cast<T>(1);
  }
  void set(const char*, tracer::Key& value) { value = tracer::Key{0xfedc'ba98'0000'0000u + ++next_}; }
  void set(const char* name, std::string& value) { value = std::string(name) + std::to_string(++next_); }
  void set(const char*, std::vector<std::string>& value) {
    value = {"plain", "", "\xff\xfe not utf-8", "ünï", std::string("quote\" \\ \n \x01", 13), std::string(5000, 'x')};
  }

  std::uint64_t next_ = 100;
};

template <tracer::EventType E>
E full() {
  E event;
  Filler().fill(event);
  if constexpr (std::same_as<E, tracer::ProcessExit>) event.start_ns = event.process->start_ns;
  return event;
}

template <tracer::EventType E>
E bare() {
  E event;
  if constexpr (tracer::internal::ProcessEvent<E>) event.process = std::make_shared<const tracer::Process>();
  return event;
}

inline tracer::Loss loss(std::uint64_t time_ns, std::string cause, std::uint64_t count) {
  tracer::Loss loss;
  loss.time_ns = time_ns;
  loss.cause = std::move(cause);
  loss.count = count;
  return loss;
}

inline tracer::ProcessExit awkward() {
  using namespace tracer;
  Program program;
  program.exe = "";
  program.argv = std::vector<std::string>{};
  program.cwd = "/with\nline end \x80\xc0\xaf";
  Process process;
  process.pid = 0xffffffff;
  process.start_ns = 0xffffffffffffffff;
  process.program = std::make_shared<const Program>(program);
  ProcessExit exit;
  exit.process = std::make_shared<const Process>(process);
  exit.start_ns = process.start_ns;
  exit.exit_signal = 9;
  exit.exit_code = -2147483647 - 1;
  exit.account.cpu_ns = 0;
  return exit;
}

/// SessionEnd is the last.
inline std::vector<tracer::Event> all() {
  std::vector<tracer::Event> events;
  [&]<class... E>(tracer::internal::TypeList<E...>) {
    (events.emplace_back(full<E>()), ...);
  }(tracer::internal::EventTypes());
  [&]<class... E>(tracer::internal::TypeList<E...>) {
    (events.emplace_back(bare<E>()), ...);
  }(tracer::internal::EventTypes());
  events.emplace_back(awkward());
  events.emplace_back(full<tracer::SessionEnd>());
  return events;
}

}  // namespace sample_events
