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
  /// Takes one number_of() back: what it was for has failed, and nothing has got the number. Labels that nobody else
  /// has asked for take no room any more, unless newer ones do.
  void give_back(std::uint32_t number) noexcept;
  /// Null for a number that was not given. A number that was taken back may mean something else later.
  std::shared_ptr<const Context> at(std::uint32_t number) const;

 private:
  using Numbers = std::map<Context, std::uint32_t>;
  struct Numbered {
    std::shared_ptr<const Context> stamped;
    Numbers::const_iterator key;
    std::size_t uses = 0;
  };

  mutable std::mutex mutex_;
  std::size_t capacity_;
  Numbers numbers_;
  std::vector<Numbered> contexts_{{Process::no_context(), {}, 1}};
};

}  // namespace tracer::internal
