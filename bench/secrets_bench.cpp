// SPDX-License-Identifier: Apache-2.0
/// secrets_bench: what it costs to search an ordinary argument vector for secrets, on a thread.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "rules/secret_rules.hpp"

namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kRounds = 2000;

const std::vector<Words>& ordinary() {
  static const std::vector<Words> all = {
      {"samtools", "sort", "-@", "8", "-m", "2G", "-o", "/data/run7/NA12878.sorted.bam", "/data/run7/NA12878.bam"},
      {"bwa", "mem", "-t", "16", "-R", "@RG\tID:A00123.1\tSM:NA12878\tPL:ILLUMINA", "/data/ref/GRCh38.fa", "r1.fq.gz",
       "r2.fq.gz"},
      {"/usr/bin/python3", "-m", "pipeline.qc", "--sample", "NA12878", "--threads", "8", "--out=/data/qc", "--verbose"},
      {"java", "-Xmx8g", "-jar", "/opt/gatk/gatk.jar", "HaplotypeCaller", "-R", "/data/ref/GRCh38.fa", "-I",
       "NA12878.bam", "-O", "NA12878.g.vcf.gz", "-ERC", "GVCF"},
      {"/bin/bash", "-ue", "/data/5f/b7c91431a7e04c6b8e21f70a9d3c4e/.command.sh"},
      {"bash", "-c", "set -e; for f in *.bam; do samtools index \"$f\" && samtools flagstat \"$f\" > \"$f.txt\"; done"},
      {"docker", "run", "--rm", "-u", "1000:1000", "-v", "/data:/data", "-e", "OMP_NUM_THREADS=8", "lab/tool:1.2",
       "tool", "--in", "/data/a"},
      {"sbatch", "--job-name=align", "--mem=16G", "--export=ALL,SAMPLE=NA12878", "/data/jobs/align.sh"},
      {"curl", "-fsSL", "-o", "a.vcf.gz", "https://data.example.org/vcf/chr1.vcf.gz?version=3&format=gz"},
      {"gcc", "-O2", "-g", "-Wall", "-I/usr/include/htslib", "-DNDEBUG", "-c", "-o", "build/a.o", "src/a.c"},
  };
  return all;
}

}  // namespace

int main() {
  const tracer::internal::SecretRules& rules = tracer::internal::SecretRules::builtin();
  std::printf("%-12s %10s %10s\n", "program", "median us", "99 % us");
  double sum = 0;
  for (const Words& argv : ordinary()) {
    std::vector<double> took(kRounds);
    for (double& us : took) {
      Words copy = argv;
      const auto begin = std::chrono::steady_clock::now();
      rules.mask(copy);
      us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    }
    std::sort(took.begin(), took.end());
    sum += took[kRounds / 2];
    const std::string& program = argv.front();
    std::printf("%-12s %10.1f %10.1f\n", program.substr(program.rfind('/') + 1).c_str(), took[kRounds / 2],
                took[kRounds * 99 / 100]);
  }
  std::printf("%-12s %10.1f\n", "mean", sum / static_cast<double>(ordinary().size()));
  return 0;
}
