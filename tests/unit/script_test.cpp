// SPDX-License-Identifier: Apache-2.0
/// Which commands that nobody has named are the same kind of work.
#include "history/script.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace tracer;
using namespace tracer::internal;

namespace {

using Words = std::vector<std::string>;

struct Command {
  std::string tool;
  Words argv;
  std::string exe = "/usr/bin/python3";
  std::string cwd = "/home/ann/a";
};

std::string kind(const Command& command) {
  Program program;
  program.tool = command.tool;
  program.argv = command.argv;
  program.exe = command.exe;
  program.cwd = command.cwd;
  const auto script = script_of(program);
  REQUIRE(script);
  return script->path + '|' + script->shape;
}

std::string train(Words words) {
  words.insert(words.begin(), {"python3", "train.py"});
  return kind({"train.py", std::move(words)});
}

}  // namespace

TEST_CASE("a script is the one at its path, however it is called") {
  const std::string here = kind({"run.sh", {"bash", "run.sh"}, "/usr/bin/bash"});
  CHECK(here == kind({"run.sh", {"/bin/bash", "./run.sh"}, "/usr/bin/bash"}));
  CHECK(here == kind({"run.sh", {"bash", "../a/run.sh"}, "/usr/bin/bash", "/home/ann/b"}));
  CHECK(here == kind({"run.sh", {"bash", "/home/ann/a/run.sh"}, "/usr/bin/bash", "/"}));
  CHECK(here != kind({"run.sh", {"bash", "run.sh"}, "/usr/bin/bash", "/home/ann/b"}));
  CHECK(kind({"plot.R", {"R", "--no-echo", "--file=plot.R"}, "/usr/lib/R/bin/exec/R"}) !=
        kind({"plot.R", {"R", "--no-echo", "--file=plot.R"}, "/usr/lib/R/bin/exec/R", "/home/ann/b"}));
  CHECK(kind({"timeout run.sh", {"timeout", "5", "./run.sh"}, "/usr/bin/timeout"}) !=
        kind({"timeout run.sh", {"timeout", "5", "./run.sh"}, "/usr/bin/timeout", "/home/ann/b"}));
}

TEST_CASE("a parameter makes another kind, and the name of a file with data does not") {
  for (const auto& [one, other] :
       std::vector<std::pair<Words, Words>>{{{"0.1"}, {"11"}},
                                            {{"--lr", "0.1"}, {"--lr", "0.2"}},
                                            {{"--lr=0.1"}, {"--lr=0.2"}},
                                            {{"--lr", "1"}, {"--epochs", "1"}},
                                            {{"--model", "small"}, {"--model", "large"}},
                                            {{"resnet50"}, {"resnet152"}},
                                            {{"a.csv"}, {"a.csv", "b.csv"}},
                                            {{"a.csv"}, {"a.csv", "--fast"}},
                                            {{"a.csv"}, {"a.bam"}},
                                            {{"small.yaml"}, {"large.yaml"}},
                                            {{"--config=conf/small.toml"}, {"--config=conf/large.toml"}},
                                            {{"1/2"}, {"1/20"}},
                                            {{"-j8"}, {"-j16"}},
                                            {{}, {"1"}}}) {
    CAPTURE(train(one));
    CHECK(train(one) != train(other));
  }
  for (const auto& [one, other] :
       std::vector<std::pair<Words, Words>>{{{"S1.fq"}, {"S2.fq"}},
                                            {{"S1.R1.fastq.gz"}, {"S22.R1.fastq.gz"}},
                                            {{"/data/S1/reads"}, {"/data/S2/reads"}},
                                            {{"--in=/data/S1.bam", "3"}, {"--in=runs/S2.bam", "3"}},
                                            {{"I=S1.bam"}, {"I=S2.bam"}},
                                            {{"-I/data/a"}, {"-I/data/b"}},
                                            {{"--lr", "0.1", "S1.csv"}, {"--lr", "0.1", "S2.csv"}}}) {
    CAPTURE(train(one));
    CHECK(train(one) == train(other));
  }
}

TEST_CASE("code and what is in it counts by its words, and where it runs") {
  const auto shell = [](std::string code, std::string cwd = "/home/ann/a") {
    return kind({"bash -c", {"bash", "-c", std::move(code)}, "/usr/bin/bash", std::move(cwd)});
  };
  CHECK(shell("sleep 0.1") != shell("sleep 11"));
  CHECK(shell("python train.py 1; date") != shell("python train.py 2; date"));
  CHECK(shell("projA/run.sh; date") != shell("projB/run.sh; date"));
  CHECK(shell("sort S1.txt | uniq -c") == shell("sort  S2.txt | uniq -c"));
  CHECK(shell("sort S1.txt | uniq -c") != shell("sort S1.txt | uniq -c", "/home/ann/b"));
  const auto make = [](Words argv, std::string cwd) {
    return kind({"make", std::move(argv), "/usr/bin/make", std::move(cwd)});
  };
  CHECK(make({"make", "-j8"}, "/a") != make({"make", "-j8"}, "/b"));
  const auto sort = [](std::string file, std::string cwd) {
    return kind({"samtools sort", {"samtools", "sort", std::move(file)}, "/opt/samtools", std::move(cwd)});
  };
  CHECK(sort("S1.bam", "/data/S1") == sort("S2.bam", "/data/S2"));
}

TEST_CASE("a program of which a part is not known is like none") {
  Program program;
  CHECK(!script_of(program));
  program.exe = "/usr/bin/sort";
  program.argv = Words{"sort", "a.txt"};
  CHECK(!script_of(program));
  program.cwd = "/";
  CHECK(script_of(program));
}

TEST_CASE("an engine, a label or an announcement names a kind, and a tool does not") {
  Context context;
  CHECK(!names_kind(context));
  context.run = "run.sh";
  CHECK(!names_kind(context));
  context.pipeline = "main.nf";
  CHECK(names_kind(context));
  context.task_key = Key{1};
  CHECK(!names_kind(context));
  context.step = "ALIGN";
  context.engine = "snakemake";
  context.provenance.step = Provenance::kInferred;
  CHECK(names_kind(context));
  context.engine = "make";
  CHECK(!names_kind(context));
  context.provenance.step = Provenance::kLabel;
  CHECK(names_kind(context));
}
