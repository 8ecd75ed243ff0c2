// SPDX-License-Identifier: Apache-2.0
/// secrets_bench: what it costs to search argument vectors for secrets, on a thread: ordinary ones, and some of 4 KiB.
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "rules/secrets/secret_rules.hpp"

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

/// As long as the library hands them out.
const std::vector<Words>& long_ones() {
  static const std::vector<Words> all = [] {
    constexpr std::size_t kBytes = 4000;
    std::string jars, script = "set -e";
    for (int i = 0; jars.size() < kBytes; ++i) jars += "/opt/lab/lib/module-" + std::to_string(i) + "-2.17.1.jar:";
    for (int i = 0; script.size() < kBytes; ++i) {
      script += "; samtools view -b -q 20 in_" + std::to_string(i) + ".bam > \"out/S" + std::to_string(i) + ".bam\"";
    }
    Words files{"bcftools", "concat", "-a", "-Oz", "-o", "all.vcf.gz"};
    Words cromwell{"java", "-Xmx8g"};
    for (int i = 0; i < 70; ++i) {
      files.push_back("/scratch/5f/b7c91431a7e04c6b8e21f70a9d3c4e" + std::to_string(10 + i) + "/chr1.part.vcf.gz");
      cromwell.push_back("-Dbackend.providers.slurm.config.limit" + std::to_string(i) + "=concurrent-jobs-" +
                         std::to_string(i));
    }
    for (const char* const word : {"-jar", "/opt/cromwell-85.jar", "run", "wf.wdl", "-i", "in.json"}) {
      cromwell.emplace_back(word);
    }
    return std::vector<Words>{{"java", "-Xmx4g", "-cp", jars, "org.lab.Main", "--sample", "NA12878"},
                              cromwell,
                              files,
                              {"bash", "-c", script}};
  }();
  return all;
}

/// CPU time: on a busy machine the 99th percentile of the wall clock is that of the scheduler.
double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void measure(const char* name, const std::vector<Words>& vectors) {
  const tracer::internal::SecretRules& rules = tracer::internal::SecretRules::builtin();
  double sum = 0;
  std::vector<double> all;
  for (const Words& argv : vectors) {
    std::vector<double> took(kRounds);
    for (double& us : took) {
      Words copy = argv;
      const double begin = cpu_us();
      rules.mask(copy);
      us = cpu_us() - begin;
    }
    std::sort(took.begin(), took.end());
    all.insert(all.end(), took.begin(), took.end());
    sum += took[kRounds / 2];
    std::size_t bytes = 0;
    for (const std::string& word : argv) bytes += word.size() + 1;
    const std::string& program = argv.front();
    std::printf("%-12s %8zu %10.1f %10.1f\n", program.substr(program.rfind('/') + 1).c_str(), bytes, took[kRounds / 2],
                took[kRounds * 99 / 100]);
  }
  std::sort(all.begin(), all.end());
  std::printf("%-12s %8s %10.1f %10.1f\n\n", name, "", sum / static_cast<double>(vectors.size()),
              all[all.size() * 99 / 100]);
}

}  // namespace

int main() {
  std::printf("%-12s %8s %10s %10s\n", "program", "bytes", "median us", "99 % us");
  measure("ordinary", ordinary());
  measure("long", long_ones());
  return 0;
}
