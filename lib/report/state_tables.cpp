// SPDX-License-Identifier: Apache-2.0
#include "report/state_tables.hpp"

#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace tracer::internal {

class StateTables::Impl {
 public:
  std::string id;
  std::uint64_t events = 0;
  mutable std::mutex mutex;
};

StateTables::StateTables(std::string id, std::shared_ptr<Accounts>) : impl_(std::make_unique<Impl>()) {
  impl_->id = std::move(id);
}
StateTables::~StateTables() = default;

void StateTables::add(const Event&, const std::optional<uid_t>&, const Event*) {
  const std::lock_guard lock(impl_->mutex);
  ++impl_->events;
}

std::string StateTables::json(const StateQuery&, const std::optional<std::vector<uid_t>>&) const {
  const std::lock_guard lock(impl_->mutex);
  return fmt::format(R"({{"since":"{}.{}","more":false,"runs":[],"steps":[],"tasks":[],"findings":[],"counts":{{}}}})",
                     impl_->id, impl_->events);
}

}  // namespace tracer::internal
