// SPDX-License-Identifier: Apache-2.0
#include "show/findings_text.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "show/report_text.hpp"
#include "show/screen.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

Finding found(const char* severity, const std::string& code, const std::string& tool = "a") {
  Finding finding;
  finding.code = code;
  finding.severity = severity;
  finding.confidence = "high";
  finding.subject = "process";
  finding.state = "closed";
  finding.tool = tool;
  finding.first_ns = 3'000'000'000;
  finding.last_ns = 5'000'000'000;
  finding.text = tool + " " + code;
  return finding;
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("findings: nothing is said where there are none") { CHECK(format_findings({}, 80).empty()); }

TEST_CASE("findings: five at most are shown, of notes two, and the others are counted") {
  std::vector<Finding> findings;
  for (int i = 0; i < 3; ++i) findings.push_back(found("error", "e" + std::to_string(i)));
  for (int i = 0; i < 4; ++i) findings.push_back(found("warning", "w" + std::to_string(i)));
  for (int i = 0; i < 9; ++i) findings.push_back(found("note", "n" + std::to_string(i)));
  const std::string text = format_findings(findings, std::nullopt);
  CHECK(text.starts_with("error: a e0\nerror: a e1\n"));
  CHECK(lines_with(text, "warning: ") == 2);
  CHECK(lines_with(text, "note: ") == 0);
  CHECK(text.ends_with("2 more warnings, 9 more notes (all of them: tracerd why FILE)\n"));
  findings.erase(findings.begin(), findings.begin() + 7);
  findings.erase(findings.begin() + 3, findings.end());
  const std::string notes = format_findings(findings, std::nullopt);
  CHECK(lines_with(notes, "note: ") == 2);
  CHECK(notes.ends_with("\n1 more note (all of them: tracerd why FILE)\n"));
}

TEST_CASE("findings: those of one code, tool and step are one entry") {
  const std::vector<Finding> findings(40, found("error", "core_dumped", "bwa"));
  CHECK(format_findings(findings, std::nullopt) == "error: bwa core_dumped\n    39 more like it\n");
  auto advised = findings;
  advised[0].advice = "set -euo pipefail";
  CHECK(format_findings(advised, std::nullopt) ==
        "error: bwa core_dumped\n    try: set -euo pipefail\n    39 more like it\n");
  auto other = found("error", "core_dumped", "bwa");
  other.context = std::make_shared<const Context>(Context{.step = "ALIGN"});
  CHECK(alike({findings[0], other}).size() == 2);
}

TEST_CASE("findings: below is the advice, and of one by itself the evidence that the sentence lacks") {
  Finding finding = found("error", "oom_kill");
  finding.text = "a was killed at the limit of 512 MiB";
  finding.advice = "request more memory";
  finding.evidence = {{"how", {}, {}, "was ended by SIGKILL"},
                      {"exit_signal", 9, {}, {}},
                      {"limit_bytes", 512u << 20, "bytes", {}},
                      {"life_ns", 2'000'000'000, "ns", {}},
                      {"lock_ns", 1'000'000'000, "ns", {}},
                      {"percent", 50, "percent", {}},
                      {"threads", 5, {}, {}},
                      {"limit_cgroup", {}, {}, "/box"}};
  finding.text = "a was killed at the limit of 512.0 MiB";
  CHECK(format_findings({finding}, std::nullopt) ==
        "error: a was killed at the limit of 512.0 MiB\n    try: request more memory\n");
  // Its life is said in the line with the times; a 5 is in another number only.
  CHECK(format_finding(finding, 1'000'000'000, std::nullopt) ==
        "error: a was killed at the limit of 512.0 MiB\n"
        "    confidence: high; 2.0 s after the start, for 2.0 s\n"
        "    lock time: 1.0 s; threads: 5; limit cgroup: /box\n"
        "    try: request more memory\n");
}

TEST_CASE("findings: names steer no terminal, and long sentences are wrapped") {
  const Utf8Scope utf8(true);
  Finding finding = found("error", "crash", "x\x1b[31m\n\u202e");
  finding.advice = "do\x07 this";
  finding.evidence = {{"a_bytes", {}, {}, "\x1b]0;t"}};
  for (const std::string& text : {format_findings({finding}, 80), format_finding(finding, 0, 80)}) {
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\x07') == std::string::npos);
    CHECK(text.find("\u202e") == std::string::npos);
    CHECK(text.starts_with("error: x?[31m??"));
  }
  finding.text.clear();
  for (int i = 0; i < 60; ++i) finding.text += "word ";
  const std::string wrapped = format_findings({finding}, 40);
  for (std::size_t begin = 0; begin < wrapped.size();) {
    const std::size_t end = wrapped.find('\n', begin);
    CHECK(end - begin <= 40);
    begin = end + 1;
  }
}

TEST_CASE("findings: the report has them above its table") {
  Report report;
  report.total.name = "total";
  report.findings = {found("error", "crash")};
  const std::string text = format_report("title", report, std::nullopt, std::nullopt);
  CHECK(text.starts_with("\ntitle\n\nerror: a crash\n\n"));
  report.findings.clear();
  CHECK(format_report("title", report, std::nullopt, std::nullopt).find("\n\n\n") == std::string::npos);
}
