#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Align the samples in DIR/data (see make_data.py) and summarise them.
# Everything goes to DIR/results, which is made anew by each run.
#
#   pipeline.sh DIR

set -euo pipefail

if [[ $# -ne 1 || ! -d $1/data ]]; then
    echo "usage: pipeline.sh DIR   (DIR/data as made by make_data.py --out DIR)" >&2
    exit 2
fi
cd "$1"

marker=results/.made-by-pipeline
if [[ -e results && ! -e $marker ]]; then
    echo "pipeline.sh: $PWD/results was not made by this pipeline; move it away" >&2
    exit 1
fi
rm -rf results
mkdir results
: >"$marker"
cd results

echo "== reference"
cp ../data/genome.fa ref.fa
bwa index ref.fa
samtools faidx ref.fa

samples=()
for reads in ../data/S*_R1.fastq.gz; do
    samples+=("$(basename "$reads" _R1.fastq.gz)")
done

for s in "${samples[@]}"; do
    echo "== $s: align"
    bwa mem -t 1 -R "@RG\tID:$s\tSM:$s" ref.fa \
        "../data/${s}_R1.fastq.gz" "../data/${s}_R2.fastq.gz" |
        samtools sort -o "$s.bam" -
    samtools index "$s.bam"
    samtools flagstat "$s.bam" >"$s.flagstat.txt"

    echo "== $s: depth"
    samtools depth -a "$s.bam" >"$s.depth.txt"
    gzip "$s.depth.txt"
    md5sum "$s.bam" "$s.depth.txt.gz" >"$s.md5"
done

echo "== summary"
# One line for each line of each flagstat: sample, serial number, count, what.
for s in "${samples[@]}"; do
    lines=$(wc -l <"$s.flagstat.txt")
    for i in $(seq "$lines"); do
        line=$(head -n "$i" "$s.flagstat.txt" | tail -n 1)
        count=$(echo "$line" | cut -d ' ' -f 1)
        what=$(echo "$line" | cut -d ' ' -f 4- | tr ' ' '_')
        # shellcheck disable=SC2003 # a process of its own is what is wanted here
        half=$(expr "$count" / 2 || true) # expr exits with 1 when the result is 0
        /usr/bin/printf '%s\t%s\t%s\t%s\t%s\n' \
            "$(basename "$s.bam" .bam)" "$i" "$count" "$half" "$what" >>summary.tsv
    done
    date '+%Y-%m-%dT%H:%M:%S' >>dates.txt
done
cat S*.flagstat.txt | grep -c mapped >mapped-lines.txt

echo "== unpaired"
# A limit, such as a batch system sets, kills this one after a second of work, and nobody looks at its status.
(ulimit -S -t 1 && exec bwa mem -t 1 ref.fa "../data/${samples[0]}_R1.fastq.gz") >unpaired.sam || true

echo "== checks"
# Neither of these two should stop the pipeline: the first finds nothing, the
# second reports a damaged file.
grep -q 'chrUn' ref.fa.fai || true
head -c 20000 "${samples[0]}.bam" >truncated.bam
samtools quickcheck truncated.bam || true

cat S*.md5 | md5sum -c -
echo "== done"
