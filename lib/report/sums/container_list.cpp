// SPDX-License-Identifier: Apache-2.0
#include "report/sums/container_list.hpp"

#include <algorithm>

#include "context/task_name.hpp"

namespace tracer::internal {

template <class Body>
ListedContainer* ContainerList::listed(const Body& body, std::uint64_t begin_ns) {
  const Process& process = *body.process;
  const std::pair key(process.cgroup->container_id.value_or(""), begin_ns);
  auto found = listed_.find(key);
  if (found == listed_.end()) {
    if (listed_.size() >= kMost) return nullptr;
    found = listed_.try_emplace(key).first;
  }
  ListedContainer& container = found->second;
  container.id = process.cgroup->container_id;
  container.begin_ns = begin_ns;
  container.run_key = process.context->run_key;
  container.task_key = process.context->task_key;
  container.task = task_name(*process.context);
  if (body.name) container.name = body.name;
  if (body.image) container.image = body.image;
  if (body.runtime) container.runtime = body.runtime;
  return &container;
}

void ContainerList::add(const Event& event) {
  if (const auto* start = event.get_if<ContainerStart>()) listed(*start, start->time_ns);
  const auto* finish = event.get_if<ContainerFinish>();
  if (finish == nullptr) return;
  ListedContainer* container = listed(*finish, finish->begin_ns);
  if (container == nullptr) return;
  container->gone_ns = finish->time_ns;
  container->end_ns = finish->end_ns;
  container->processes = finish->processes;
  container->oom_kills = finish->oom_kills;
  container->peak_bytes = finish->peak_bytes;
}

std::vector<ListedContainer> ContainerList::in_order() const {
  std::vector<ListedContainer> all;
  for (const auto& [key, container] : listed_) all.push_back(container);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  return all;
}

}  // namespace tracer::internal
