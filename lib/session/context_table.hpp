// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/process.hpp>

namespace tracer::internal {

/// The numbers by which the kernel side knows contexts. 0 stands for no labels at all. Any thread.
class ContextTable {
 public:
  explicit ContextTable(std::size_t capacity) : capacity_(capacity) {}

  /// The number of these labels; new ones get the next. Throws Error(kInvalidArgument) when the table is full.
  std::uint32_t number_of(const Context& context);
  /// Takes the newest number back, if it is this one: what it was made for has failed.
  void forget_newest(std::uint32_t number) noexcept;
  /// Null for a number that was not given. A number that was taken back may mean something else later.
  std::shared_ptr<const Context> at(std::uint32_t number) const;
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::size_t capacity_;
  std::map<Context, std::uint32_t> numbers_;
  std::vector<std::shared_ptr<const Context>> contexts_{Process::no_context()};
};

}  // namespace tracer::internal
