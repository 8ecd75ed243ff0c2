// SPDX-License-Identifier: Apache-2.0
#include "rules/pattern.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using tracer::internal::Captures;
using tracer::internal::Pattern;
using tracer::internal::Template;
using tracer::internal::WordsPattern;

namespace {

/// "no", or what was captured: "a=1 b=2".
std::string matched(const char* pattern, const std::string& text) {
  Captures captures;
  if (!Pattern(pattern).matches(text, captures)) return "no";
  std::string out;
  for (const auto& [name, value] : captures) out += (out.empty() ? "" : " ") + name + "=" + value;
  return out;
}

std::string matched_words(const std::vector<std::string>& pattern, const std::vector<std::string>& words) {
  Captures captures;
  if (!WordsPattern(pattern).matches(words, captures)) return "no";
  std::string out;
  for (const auto& [name, value] : captures) out += (out.empty() ? "" : " ") + name + "=" + value;
  return out;
}

}  // namespace

TEST_CASE("a pattern matches a whole text") {
  CHECK(matched("abc", "abc").empty());
  CHECK(matched("abc", "abcd") == "no");
  CHECK(matched("abc", "ab") == "no");
  CHECK(matched("", "").empty());
  CHECK(matched("", "a") == "no");
  CHECK(matched("*", "").empty());
  CHECK(matched("*.sh", "/a/b.sh").empty());
  CHECK(matched("a?c", "abc").empty());
  CHECK(matched("a?c", "ac") == "no");
  CHECK(matched("\\{a\\*", "{a*").empty());
  CHECK(matched("\\{a\\*", "{ab") == "no");
}

TEST_CASE("words that would take long match nothing, and hold up nobody") {
  const auto times = [](const std::string& word, std::size_t count) { return std::vector<std::string>(count, word); };
  // The last pattern of a long run fits no word.
  std::vector<std::string> pattern = times("*a", 2000);
  pattern.insert(pattern.begin(), "...");
  pattern.insert(pattern.end(), {"b", "..."});
  std::vector<std::string> words = times("a", 4000);
  CHECK(matched_words(pattern, words) == "no");
  words.insert(words.begin() + 2000, "b");
  CHECK(matched_words(pattern, words).empty());
  words.insert(words.begin(), "c");
  words.insert(words.begin(), 1999, "a");
  // Each of the first 1,999 words begins a run, which ends at the next one.
  CHECK(matched_words(pattern, words) == "no");
  std::size_t steps = 1000;
  Captures captures;
  CHECK(Pattern("a*b").matches("axb", captures, steps));
  CHECK(steps == 1000 - 128 - 3 * 4);
  CHECK_FALSE(Pattern("a*b").matches("ab", captures, steps = 100));
  CHECK(steps == 0);
  // Nor do they need room for each "...".
  pattern = times("...", 100'000);
  pattern.push_back("a");
  CHECK(matched_words(pattern, {"b", "a"}).empty());
  CHECK(matched_words(pattern, {"b"}) == "no");
}

TEST_CASE("several stars are as one") {
  CHECK(matched("a**", "a").empty());
  CHECK(matched("{a:any}**b", "xyb") == "a=x");
  CHECK(matched("\\**", "*").empty());
  CHECK(matched(std::string(100'000, '*').c_str(), "ab").empty());
}

TEST_CASE("captures take as few characters as they can, and only those of their class") {
  CHECK(matched("{a}/{b}", "x/y") == "a=x b=y");
  CHECK(matched("{a}", "x/y") == "no");
  CHECK(matched("{a:any}", "x/y") == "a=x/y");
  CHECK(matched("{step:any} ({tag:any})", "A (B) (C)") == "step=A tag=B) (C");
  CHECK(matched("{work:any}/{a:hex2}/{b:hex4}", "/w/ab/cd/01ef") == "a=cd b=01ef work=/w/ab");
  CHECK(matched("{work:any}/{a:hex2}/{b:hex4}", "/w/ab/cd/01eg") == "no");
  CHECK(matched("{a:hex2}", "a") == "no");
  CHECK(matched("{a:hex2}", "abc") == "no");
  CHECK(matched("{a:hex2}", "AB") == "no");
  CHECK(matched("job{n:digits}", "job007") == "n=007");
  CHECK(matched("job*{n:number}", "job007") == "n=7");
  CHECK(matched("job*{n:number}", "job00100") == "n=100");
  CHECK(matched("{a:plain}", "-x") == "no");
  CHECK(matched("{a:plain}", "x-/-") == "a=x-/-");
  CHECK(matched("{a:word}", "a.b-c_9") == "a=a.b-c_9");
  CHECK(matched("{a:word}", "a b") == "no");
  CHECK(matched("{a}", "") == "no");
}

TEST_CASE("a name that was captured before must capture the same again") {
  Captures captures;
  CHECK(Pattern("{a}/x").matches("1/x", captures));
  CHECK(Pattern("{a}/y").matches("1/y", captures));
  CHECK_FALSE(Pattern("{a}/y").matches("2/y", captures));
  CHECK(captures.at("a") == "1");
}

TEST_CASE("hostile texts take no more than the pattern's length times theirs") {
  const std::string many(Pattern::kMostText, 'a');
  CHECK(matched("*a*a*a*a*a*a*a*a*b", many) == "no");
  CHECK(matched("{a:any}a{b:any}a{c:any}a{d:any}b", many) == "no");
  CHECK(matched("*", many + "a") == "no");
  std::vector<std::string> words(20000, "a");
  CHECK(matched_words({"...", "a", "...", "a", "...", "b"}, words) == "no");
}

TEST_CASE("words are matched in their order") {
  CHECK(matched_words({"...", "run", "{p:plain}", "..."}, {"nf", "-log", "x", "run", "main.nf", "-resume"}) ==
        "p=main.nf");
  CHECK(matched_words({"...", "run", "{p:plain}", "..."}, {"nf", "run", "-resume", "main.nf"}) == "no");
  CHECK(matched_words({"...", "run", "{p:plain}", "..."}, {"nf", "run", "-x", "run", "b"}) == "p=b");
  CHECK(matched_words({"a", "b"}, {"a", "b"}).empty());
  CHECK(matched_words({"a", "b"}, {"a", "b", "c"}) == "no");
  CHECK(matched_words({"..."}, {}).empty());
  CHECK(matched_words({"...", "{a}=1", "..."}, {"x=2", "y=1"}) == "a=y");
}

TEST_CASE("a template is empty where a part of it was not captured") {
  const Captures captures = {{"a", "1"}, {"b", "2"}};
  CHECK(Template("{a}/{b}").fill(captures) == "1/2");
  CHECK(Template("x{a}y").fill(captures) == "x1y");
  CHECK(Template("{a}{c}").fill(captures).empty());
  CHECK(Template("plain").fill(captures) == "plain");
}

TEST_CASE("what can't be a pattern or a template is refused with its text") {
  for (const char* text : {"{", "{a", "}", "{}", "{1a}", "{a b}", "{a:what}", "{a}{a}", "{a:hex0}",
                           "{a:hex99999999999999999999}", "a\\"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Pattern{text}, std::invalid_argument);
  }
  for (const char* text : {"{", "{a", "}", "{}", "{a:any}"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Template{text}, std::invalid_argument);
  }
  CHECK_THROWS_AS(WordsPattern({"{a}", "{a}"}), std::invalid_argument);
}

TEST_CASE("a pattern that every text matches says nothing") {
  CHECK_FALSE(Pattern("*").says_something());
  CHECK_FALSE(Pattern("{a:any}").says_something());
  CHECK_FALSE(Pattern("/*/{a}").says_something());
  CHECK(Pattern("*.sh").says_something());
  CHECK(Pattern("{a:hex30}").says_something());
  CHECK_FALSE(WordsPattern({"...", "{a}", "..."}).says_something());
  CHECK(WordsPattern({"...", "run", "..."}).says_something());
}
