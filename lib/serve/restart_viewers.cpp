// SPDX-License-Identifier: Apache-2.0
#include "serve/restart_viewers.hpp"

#include <algorithm>
#include <span>

namespace tracer::internal {

void put_viewer(Bytes& payload, const KeptViewer& viewer) {
  put_value(payload, static_cast<std::uint8_t>(viewer.sight.all));
  put_value(payload, static_cast<std::uint32_t>(viewer.sight.owners.size()));
  for (const uid_t owner : viewer.sight.owners) put_value(payload, static_cast<std::uint32_t>(owner));
  for (const std::uint64_t number : {viewer.last, viewer.samples, viewer.started, viewer.ended})
    put_value(payload, number);
}

KeptViewer viewer_from(Taker& taker) {
  KeptViewer viewer;
  viewer.sight.all = taker.take<std::uint8_t>() != 0;
  const auto owners = taker.take<std::uint32_t>();
  for (std::uint32_t k = 0; k < owners && taker.good(); ++k) viewer.sight.owners.push_back(taker.take<std::uint32_t>());
  for (std::uint64_t* const number : {&viewer.last, &viewer.samples, &viewer.started, &viewer.ended})
    *number = taker.take<std::uint64_t>();
  return viewer;
}

namespace {

template <class T, class F>
void put_list(Bytes& out, const std::vector<T>& list, F&& put_one) {
  put_value(out, static_cast<std::uint32_t>(list.size()));
  for (const T& each : list) put_one(each);
}

template <class T, class F>
void take_list(Taker& taker, std::vector<T>& list, F&& take_one) {
  const auto count = taker.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && taker.good(); ++i) list.push_back(take_one());
}

}  // namespace

void put_filtered(Bytes& payload, const KeptViewer& viewer) {
  const KeptFilter& filtered = *viewer.filtered;
  put_viewer(payload, viewer);
  put_value(payload, filtered.id);
  put_value(payload, static_cast<std::uint8_t>(filtered.shared));
  put_value(payload, static_cast<std::uint32_t>(filtered.rules.size()));
  put_bytes(payload, std::as_bytes(std::span(filtered.rules)));
  const auto put_number = [&payload](std::uint64_t number) { put_value(payload, number); };
  const auto put_scope = [&payload](Key key) { put_value(payload, static_cast<std::uint64_t>(key)); };
  put_list(payload, filtered.streams, put_number);
  put_list(payload, filtered.decided.processes, [&payload](const ReplayFilter::Decided::OfProcess& each) {
    put_value(payload, each.pid);
    put_value(payload, each.start_ns);
    put_value(payload, static_cast<std::uint8_t>(each.selection));
  });
  put_list(payload, filtered.decided.runs, put_scope);
  put_list(payload, filtered.decided.tasks, put_scope);
  put_list(payload, filtered.decided.cgroups, put_number);
}

KeptViewer filtered_from(Taker& taker) {
  KeptViewer viewer = viewer_from(taker);
  KeptFilter& filtered = viewer.filtered.emplace();
  filtered.id = taker.take<std::uint64_t>();
  filtered.shared = taker.take<std::uint8_t>() != 0;
  const auto rules = taker.bytes(taker.take<std::uint32_t>());
  filtered.rules.assign(reinterpret_cast<const char*>(rules.data()), rules.size());
  const auto take_number = [&taker] { return taker.take<std::uint64_t>(); };
  const auto take_scope = [&taker] { return Key{taker.take<std::uint64_t>()}; };
  take_list(taker, filtered.streams, take_number);
  take_list(taker, filtered.decided.processes, [&taker] {
    ReplayFilter::Decided::OfProcess process;
    process.pid = taker.take<std::uint32_t>();
    process.start_ns = taker.take<std::uint64_t>();
    process.selection =
        static_cast<Selection>(std::min(taker.take<std::uint8_t>(), static_cast<std::uint8_t>(Selection::kExcluded)));
    return process;
  });
  take_list(taker, filtered.decided.runs, take_scope);
  take_list(taker, filtered.decided.tasks, take_scope);
  take_list(taker, filtered.decided.cgroups, take_number);
  return viewer;
}

}  // namespace tracer::internal
