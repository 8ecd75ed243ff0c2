// SPDX-License-Identifier: Apache-2.0
#include "report/meet_living.hpp"

namespace tracer::internal {
namespace {

std::uint64_t ended_in(const SessionFigures& figures) {
  std::uint64_t sum = 0;
  for (const ContextTotals& totals : figures.totals) sum += totals.ended;
  return sum;
}

}  // namespace

void meet_living(SessionFigures& figures, std::uint64_t exits, const std::function<SessionFigures()>& later) {
  const std::uint64_t before = ended_in(figures);
  if (exits <= before || figures.totals.empty() || exits > ended_in(later())) return;
  figures.totals.front().ended += exits - before;
}

}  // namespace tracer::internal
