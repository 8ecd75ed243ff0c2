// SPDX-License-Identifier: Apache-2.0
/// Reads lines that nobody meant, as a service and as a client do. A request that is understood must survive being sent
/// again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include <tracer/error.hpp>

#include "protocol/line_splitter.hpp"
#include "protocol/messages.hpp"

namespace {

template <class F>
void passes_over(F&& f) {
  try {
    f();
  } catch (const tracer::Error&) {
    // A refusal.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tracer::internal;
  LineSplitter lines(4096);
  auto rest = std::as_bytes(std::span(data, size));
  while (!rest.empty()) {
    const auto piece = rest.first(std::min<std::size_t>(rest.size(), 97));
    rest = rest.subspan(piece.size());
    lines.feed(piece);
    while (const auto line = lines.next()) {
      passes_over([&] {
        const std::string sent = to_line(request_from(*line));
        const std::string again = to_line(request_from(std::string_view(sent).substr(0, sent.size() - 1)));
        if (sent != again) std::abort();
      });
      passes_over([&] {
        const std::string rules = text_of(filter_from(*line));
        if (text_of(filter_from(rules)) != rules) std::abort();
      });
      passes_over([&] { hello_from(*line); });
      passes_over([&] { totals_from(*line); });
      passes_over([&] { statistics_from(*line); });
      passes_over([&] { snapshot_from(*line); });
      passes_over([&] { findings_from(*line); });
      passes_over([&] { status_from(*line); });
      passes_over([&] { usage_from(*line); });
      passes_over([&] { subscribe_from(*line); });
      passes_over([&] { flush_from(*line); });
      passes_over([&] { label_from(*line); });
      passes_over([&] { history_from(*line); });
      passes_over([&] { state_from(*line); });
      passes_over([&] { expect_ok(*line); });
    }
  }
  return 0;
}
