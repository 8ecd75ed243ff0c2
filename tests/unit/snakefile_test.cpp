// SPDX-License-Identifier: Apache-2.0
#include "rules/engines/snakefile.hpp"

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using tracer::internal::rule_that_runs;
using tracer::internal::Snakefile;

namespace {

std::optional<std::string> rule_in(const std::string& text, const std::string& command) {
  const std::vector<Snakefile> files = {Snakefile::parse(text)};
  return rule_that_runs(files, command);
}

const std::string kTwo = R"(
rule all:
    input: "a.txt"

rule count:  # shell: "not this"
    output: "{s}.txt"
    threads: 4
    shell:
        "seq 1 {params.n}"
        ' | sha256sum > {output:q}'

checkpoint split:
    output: directory("parts")
    shell: """
        split -l 10 {input} {{}} \
          > {output}
        """
)";

}  // namespace

TEST_CASE("the rule of a command is found by its text") {
  CHECK(rule_in(kTwo, "set -euo pipefail;  seq 1 20 | sha256sum > a.txt") == "count");
  CHECK(rule_in(kTwo, "set -euo pipefail;  split -l 10 x {}           > parts") == "split");
  CHECK(rule_in(kTwo, "set -euo pipefail;  seq 1 20 | md5sum > a.txt") == std::nullopt);
  CHECK(rule_in(kTwo, "set -euo pipefail;  seq 1 20 | sha256sum > a.txt | tee b") ==
        "count");  // {output} may be all of it.
  CHECK(rule_in(kTwo, "cd x; set -euo pipefail;  seq 1 20 | sha256sum > a.txt") == std::nullopt);
  const std::string named = "rule a:\n    shell: \"x {rule} {input}\"\nrule b:\n    shell: \"x {rule}{input}\"\n";
  CHECK(rule_in(named, "set -euo pipefail;  x a 1") == "a");
  CHECK(rule_in(named, "set -euo pipefail;  x b 1") == "b");
  CHECK(rule_in("", "set -euo pipefail;  true") == std::nullopt);
}

TEST_CASE("what stands in front of a command for its environment does not matter") {
  const std::string command = "set -euo pipefail;  seq 1 20 | sha256sum > a.txt";
  CHECK(rule_in(kTwo, "source /opt/bin/activate '/w/.snakemake/conda/1a_'; " + command) == "count");
  CHECK(rule_in(kTwo, "module purge && MODULES_VERBOSITY=concise module load a b; " + command) == "count");
  CHECK(rule_in(kTwo, " singularity  exec --home '/w'  x.sif bash -c '" + command + "'") == "count");
  CHECK(rule_in(R"(shell.prefix("set -e; ")
rule one:
    shell: "echo 'it' {input}"
)",
                R"( apptainer  exec --home '/w'  x.sif bash -c 'set -e;  echo '\''it'\'' a')") == "one");
}

TEST_CASE("no rule is named where another one may be meant") {
  const std::string command = "set -euo pipefail;  sort a > b";
  const std::string known = "rule one:\n    shell: \"sort {input} > {output}\"\n";
  REQUIRE(rule_in(known, command) == "one");
  // Another with the same text, one whose text is not known, and rules that are written elsewhere.
  CHECK(rule_in(known + "rule two:\n    shell: \"sort a > {output}\"\n", command) == std::nullopt);
  CHECK(rule_in(known + "rule two:\n    shell: f\"sort {x}\"\n", command) == std::nullopt);
  CHECK(rule_in(known + "rule two:\n    shell: command_of(\"x\")\n", command) == std::nullopt);
  CHECK(rule_in(known + "rule two:\n    shell: \"sort \" + x\n", command) == std::nullopt);
  CHECK(rule_in(known + "use rule one as two with:\n    output: \"c\"\n", command) == std::nullopt);
  CHECK(rule_in(known + "module other:\n    snakefile: \"x\"\n", command) == std::nullopt);
  CHECK(rule_in(known + "include: name\n", command) == std::nullopt);
  CHECK(rule_in(known + "rule:\n    shell: \"true\"\n", command) == std::nullopt);
  CHECK(rule_in(known + "shell.suffix(\"; true\")\n", command) == std::nullopt);
  CHECK(rule_in(known + "shell.prefix(x)\n", command) == std::nullopt);
  CHECK(rule_in(known + "shell.prefix(\"set -e; \")\n", command) == std::nullopt);
  // The same rule twice, and text that only looks like a rule.
  CHECK(rule_in("if x:\n    " + std::string("rule one:\n        shell: \"sort {input} > b\"\n") + known, command) ==
        "one");
  CHECK(rule_in(known + "'''\nrule two:\n    shell: \"sort a > b\"\n'''\n", command) == "one");
  CHECK(rule_in(known + "rule two:\n    run:\n        shell(\"sort a > b\")\n", command) == "one");
}

TEST_CASE("scripts are found by the names of their files") {
  const std::string text = R"(
rule plot:
    script: "scripts/plot.py"
rule table:
    script: "../table.{wildcards.kind}.R"
rule wrapped:
    wrapper: "v3.3/bio/samtools/sort"
rule all_of_it:
    shell: "{params.command}"
)";
  const std::string python = "set -euo pipefail;  /usr/bin/python3 /w/.snakemake/scripts/";
  CHECK(rule_in(text, python + "tmpk3n4x8yw.plot.py") == "plot");
  CHECK(rule_in(text, "set -euo pipefail;  Rscript --vanilla '/my w/.snakemake/scripts/tmpk3n4x8yw.table.a.R'") ==
        "table");
  CHECK(rule_in(text, python + "tmpk3n4x8yw.wrapper.py") == "wrapped");
  CHECK(rule_in(text, python + "tmpk3n4x8yw.other.py") == std::nullopt);
  CHECK(rule_in(text, "set -euo pipefail;  python3 scripts/plot.py") == "all_of_it");
}

TEST_CASE("includes are named, and any text ends") {
  const Snakefile file = Snakefile::parse("include: \"rules/a.smk\"\nif x:\n    include:\n        'b.smk'\n");
  CHECK(file.understood);
  CHECK(file.includes == std::vector<std::string>{"rules/a.smk", "b.smk"});
  CHECK_FALSE(Snakefile::parse("include: \"https://x.org/a.smk\"\n").understood);
  for (const std::string& text :
       {std::string("rule a:\n    shell: \"\"\""), std::string("rule a:\n    shell: \"{"),
        std::string("rule a:\n\tshell: '\\"), std::string(10000, '('), std::string(10000, '"'),
        std::string("rule a:\n") + std::string(10000, ' '), std::string("\0\xff\n", 3)})
    CHECK_NOTHROW(Snakefile::parse(text));
}
