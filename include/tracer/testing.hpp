// SPDX-License-Identifier: Apache-2.0
/// For tests of libtracer and of programs that embed it: no privileges, no kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <tracer/export.hpp>
#include <tracer/source.hpp>

namespace tracer::testing {

/// Yields the wire records that it is given, through the real decoder, correlation and dispatch.
class TRACER_EXPORT FakeSource : public Source {
 public:
  FakeSource();
  ~FakeSource() override;

  /// From any thread. Copied; yielded by the next poll, in this order.
  void push(std::span<const std::byte> record);
  template <class Record>
  requires(std::is_trivially_copyable_v<Record> &&
           !std::is_convertible_v<const Record&, std::span<const std::byte>>) void push(const Record& record) {
    push(std::as_bytes(std::span(&record, 1)));
  }
  /// No more will come.
  void finish();
  void set_loss(const std::string& cause, std::uint64_t count);

  void start(Receiver& receiver) override;
  int fd() const noexcept override;
  void poll(Receiver& receiver) override;
  bool finished() const noexcept override;
  void stop() override;
  std::map<std::string, std::uint64_t> losses() const override;
  HostInfo host() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tracer::testing
