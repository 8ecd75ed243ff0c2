// SPDX-License-Identifier: Apache-2.0
/// What the waste of a report costs, by a price that somebody has chosen.
#include "report/waste_cost.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

#include "report/hourly_price.hpp"
#include "show/report_text.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kHour = 3'600'000'000'000;
constexpr std::uint64_t kGiB = 1u << 30;

/// That used nothing.
ReportNode idle_task(std::uint64_t wall_ns, std::uint64_t millicpus, std::uint64_t memory_bytes) {
  ReportNode node;
  node.level = SummaryLevel::kTask;
  node.row.wall_ns = wall_ns;
  node.row.cpu_ns = Figure{0};
  node.row.memory_bytes = Figure{0};
  node.row.requested.millicpus = millicpus;
  node.row.requested.memory_bytes = memory_bytes;
  return node;
}

HourlyPrice price_of(std::string per_cpu, std::string per_gib) {
  return {.usd_per_hour = "0.107",
          .usd_per_cpu_hour = std::move(per_cpu),
          .usd_per_gib_hour = std::move(per_gib),
          .instance_type = "m5.large",
          .region = "eu-west-1",
          .model = "on-demand",
          .basis = "listed",
          .date = "2999-11-01"};
}

Report report_of(std::vector<ReportNode> tasks, HourlyPrice price) {
  Report report;
  report.tree = std::move(tasks);
  report.price = std::move(price);
  return report;
}

std::string amount_of(const Report& report) {
  const auto cost = waste_cost_of(report);
  return cost ? cost->amount() : "none";
}

std::string file_with(const std::string& date, const std::string& more = {}) {
  return R"({"schema":1,"currency":"USD","usd_per_hour":"0.107","usd_per_cpu_hour":"0.037038461538",)"
         R"("usd_per_gib_hour":"0.004115384615","instance_type":"m5.large","region":"eu-west-1","model":"spot",)"
         R"("basis":"listed","date":")" +
         date + '"' + more + '}';
}

std::string refusal_of(std::string_view text) {
  try {
    price_of_json(text, "FILE");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kFileUnreadable);
    return error.problems().front().what;
  }
  return "none";
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tracer-price-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("the waste costs what its hours do, as an estimate with basis and date") {
  const Report report = report_of({idle_task(2 * kHour, 3000, 12 * kGiB)}, price_of("0.037", "0.004"));
  CHECK(amount_of(report) == "0.318000");
  const std::string text =
      "about 0.32 USD, an estimate by the list price of m5.large in eu-west-1 on demand, 0.107 USD an hour, of "
      "2999-11-01";
  CHECK(waste_cost_of(report)->text() == text);
  CHECK(format_notes(report, std::nullopt).waste.ends_with(" (100 %); " + text + "\n"));
  CHECK(to_json(report).find(
            R"("waste_cost":{"amount":"0.318000","currency":"USD","state":"estimate","basis":"listed",)"
            R"("price_date":"2999-11-01","instance_type":"m5.large","region":"eu-west-1","model":"on-demand",)"
            R"("usd_per_hour":"0.107","usd_per_cpu_hour":"0.037","usd_per_gib_hour":"0.004","text":")" +
            text + R"("})") != std::string::npos);
}

TEST_CASE("without a price, requests, or a machine of its type, the waste has no cost") {
  Report report = report_of({idle_task(kHour, 1000, kGiB)}, price_of("1", "1"));
  report.instance_types = {"m5.large"};
  CHECK(amount_of(report) == "2.000000");
  report.instance_types = {"m5.large", "m6i.large"};
  CHECK(amount_of(report) == "none");
  CHECK(to_json(report).find("waste_cost") == std::string::npos);
  CHECK(format_notes(report, std::nullopt).waste.find("USD") == std::string::npos);
  report.price->instance_type = report.price->region = report.price->model = "";
  report.price->basis = "given";
  CHECK(amount_of(report) == "2.000000");
  CHECK(waste_cost_of(report)->text().find("by the given price, 0.107 USD an hour, of") != std::string::npos);
  report.price.reset();
  CHECK(amount_of(report) == "none");
  CHECK(amount_of(report_of({}, price_of("1", "1"))) == "none");
  CHECK(amount_of(report_of({idle_task(kHour, 0, 0)}, price_of("1", "1"))) == "none");
}

TEST_CASE("sums are exact, and halves go to the even neighbor") {
  std::vector<ReportNode> tasks;
  for (int i = 0; i < 3000; ++i) tasks.push_back(idle_task(kHour / 3000, 1000, 0));
  CHECK(amount_of(report_of(tasks, price_of("1", "0"))) == "1.000000");
  CHECK(amount_of(report_of(tasks, price_of("0.0000005", "0"))) == "0.000000");
  tasks.assign(3, idle_task(kHour, 1000, 0));
  CHECK(amount_of(report_of(tasks, price_of("0.0000005", "0"))) == "0.000002");
  CHECK(amount_of(report_of(tasks, price_of("0.000000499999", "0"))) == "0.000001");
  // 0.1 three times, of which binary numbers make 0.30000000000000004.
  tasks.assign(3, idle_task(kHour / 10, 1000, 0));
  CHECK(amount_of(report_of(tasks, price_of("999999.999999999999", "0"))) == "300000.000000");
}

TEST_CASE("what a cost looks like depends on its size") {
  const auto text_of = [](std::uint64_t micro_usd, bool at_least = false) {
    const std::string text = WasteCost{micro_usd, at_least, price_of("1", "1")}.text();
    return text.substr(0, text.find(" USD, an"));
  };
  CHECK(text_of(0) == "about 0");
  CHECK(text_of(120) == "about 0.00012");
  CHECK(text_of(99'999) == "about 0.099999");
  CHECK(text_of(125'000) == "about 0.12");
  CHECK(text_of(1'234'567'890'000) == "about 1,234,567.89");
  CHECK(text_of(2'000'000, true) == "at least 2.00");
}

TEST_CASE("a part that is not known makes the cost a lower bound") {
  ReportNode task = idle_task(kHour, 1000, kGiB);
  task.row.memory_bytes.reset();
  const Report report = report_of({task}, price_of("1", "1"));
  CHECK(waste_cost_of(report)->text().starts_with("at least 1.00 USD, an estimate"));
  CHECK(to_json(report).find(R"("waste_cost":{"amount_at_least":"1.000000",)") != std::string::npos);
}

TEST_CASE("an old price says its age, and one that is no plain list price its basis") {
  HourlyPrice price = price_of("1", "1");
  price.date = "2020-01-01";
  price.model = "spot";
  price.basis = "estimated";
  const std::string text = waste_cost_of(report_of({idle_task(kHour, 1000, 0)}, price))->text();
  CHECK(text.find(" in eu-west-1 as spot, 0.107 USD an hour, of 2020-01-01 (estimated), ") != std::string::npos);
  CHECK(text.ends_with(" days old"));
}

TEST_CASE("requests and prices that nobody has, have no cost") {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  const std::vector<ReportNode> tasks(3, idle_task(kMost, kMost, kMost));
  CHECK(amount_of(report_of(tasks, price_of("999999", "999999"))) == "none");
  CHECK(amount_of(report_of({idle_task(kHour, 1'000'000'000'000, 0)}, price_of("999999", "0"))) == "none");
  for (const char* text :
       {"", "x", "-1", "+1", "1e3", ".5", "1.", "1.2.3", "1,5", " 1", "1000000", "1.0000000000001"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_amount(text));
    CHECK(amount_of(report_of({idle_task(kHour, 1000, 0)}, price_of(text, "1"))) == "none");
  }
  CHECK(parse_amount("999999.999999999999") == 999'999'999'999'999'999);
  CHECK(parse_amount("0.5") == 500'000'000'000);
  for (const char* date : {"", "2026-13-01", "2026-02-30", "26-02-03", "2026/02/03", "2026-2-003", "20260203"})
    CHECK_FALSE(parse_date(date));
}

TEST_CASE("a price file is read as it was written") {
  const HourlyPrice price = price_of_json(file_with("2026-11-01"), "FILE");
  CHECK(price.usd_per_cpu_hour == "0.037038461538");
  CHECK(price.instance_type == "m5.large");
  CHECK(price.model == "spot");
  CHECK(price.date == "2026-11-01");
  // What is new in it is skipped.
  CHECK(price_of_json(file_with("2026-11-01", R"(,"later":"x")"), "FILE").basis == "listed");
}

TEST_CASE("a damaged price file is refused, and names in it can't change a page") {
  const std::string whole = file_with("2026-11-01");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(refusal_of(whole.substr(0, size)) == "FILE is cut or damaged");
  }
  const auto changed = [&whole](std::string_view from, std::string_view to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    return refusal_of(text);
  };
  CHECK(changed("\"schema\":1", "\"schema\":2") == "FILE is no price, or of another version");
  CHECK(changed("USD", "EUR") == "FILE has a price in another currency than USD");
  CHECK(changed("\"0.107\"", "0.107") == "FILE is damaged: usd_per_hour is no text");
  CHECK(changed("\"0.107\"", "\"NaN\"") == "FILE is damaged: \"NaN\" is no price");
  CHECK(changed("2026-11-01", "2026-11-31") == "FILE is damaged: \"2026-11-31\" is no date");
  CHECK(changed("spot", "free") == "FILE is damaged: it does not say which price it is");
  CHECK(changed("eu-west-1", std::string(101, 'x')) == "FILE is damaged: region is too long");
  CHECK(changed("\"spot\"", "[[[[\"spot\"]]]]") == "FILE is cut or damaged");
  CHECK(refusal_of(std::string(4000, '[')) == "FILE is cut or damaged");
  CHECK(refusal_of("[]") == "FILE is cut or damaged");
  std::string strange = whole;
  strange.replace(strange.find("m5.large"), 8, "m5</script>\\u001b[1m\\\"");
  CHECK(price_of_json(strange, "FILE").instance_type == "m5??script???1m?");
}

TEST_CASE("only a small regular file is a price file") {
  const Folder folder;
  const auto problem_of = [](const std::filesystem::path& file) -> Problem {
    try {
      read_price(file);
    } catch (const Error& error) {
      return error.problems().front();
    }
    return {};
  };
  CHECK(problem_of(folder.file("none")).error_number == ENOENT);
  CHECK(problem_of(folder.file("")).what.ends_with("is no regular file"));
  REQUIRE(::mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  CHECK(problem_of(folder.file("fifo")).what.ends_with("is no regular file"));
  std::ofstream(folder.file("large")) << file_with("2026-11-01") << std::string(5000, ' ');
  CHECK(problem_of(folder.file("large")).what.ends_with("is no price: it is too large"));
  std::ofstream(folder.file("price.json")) << file_with("2026-11-01") << '\n';
  CHECK(read_price(folder.file("price.json")).region == "eu-west-1");
}

TEST_CASE("a summary has the types that machines say they are") {
  Summary summary;
  for (const char* type : {"m6i.large", "c6i.large", "m6i.large"}) {
    HostSample sample;
    sample.instance_type = type;
    summary.add(Event(sample));
  }
  summary.add(Event(HostSample{}));
  CHECK(make_report(summary).instance_types == std::vector<std::string>{"c6i.large", "m6i.large"});
  for (int i = 0; i < 100; ++i) {
    HostSample sample;
    sample.instance_type = std::to_string(i);
    summary.add(Event(sample));
  }
  const Report many = make_report(summary);
  CHECK(many.instance_types.size() == Summary::kMostInstanceTypes);
  Report other;
  other.instance_types = {"a", "m6i.large"};
  Report first = make_report(Summary());
  first.instance_types = {"c", "m6i.large"};
  CHECK(sum_of_reports({first, other}, {0, 0}).instance_types == std::vector<std::string>{"a", "c", "m6i.large"});
}
