// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <fmt/format.h>

#include "show/findings_text.hpp"
#include "show/page/page_sections.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostPageFindings = 100;
constexpr std::size_t kMostSentence = 600;

}  // namespace

void write_findings(JsonBuilder& json, const Report& report) {
  std::vector<AlikeFindings> groups = alike(report.findings);
  std::uint64_t left_out = 0;
  for (std::size_t i = kMostPageFindings; i < groups.size(); ++i) left_out += 1 + groups[i].others;
  if (groups.size() > kMostPageFindings) groups.resize(kMostPageFindings);
  std::vector<const Finding*> all;
  for (const Finding& each : report.findings) all.push_back(&each);
  json.object("findings", [&] {
    json.put("title", count_by_severity(all));
    json.list("list", groups, [&](const AlikeFindings& group) {
      const Finding& finding = *group.first;
      std::string besides = evidence_besides(finding);
      if (group.others != 0) besides += fmt::format("{}{} more like it", besides.empty() ? "" : "; ", group.others);
      json.object([&] {
        json.put("severity", finding.severity);
        json.put("text", visible(finding.text, kMostSentence));
        if (!besides.empty()) json.put("evidence", visible(besides, kMostSentence));
        if (!finding.advice.empty()) json.put("advice", visible(finding.advice, kMostSentence));
      });
    });
    if (left_out != 0) json.put("note", fmt::format("{} more: tracerd why FILE", left_out));
  });
}

}  // namespace tracer::internal
