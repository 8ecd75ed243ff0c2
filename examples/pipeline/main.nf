// SPDX-License-Identifier: Apache-2.0
// The work of pipeline.sh as a Nextflow pipeline: nextflow run main.nf --data DIR/data

process INDEX {
    input:
    path genome

    output:
    path 'ref.fa*'

    script:
    """
    cp $genome ref.fa
    bwa index ref.fa
    samtools faidx ref.fa
    """
}

process ALIGN {
    tag "$sample"
    cpus 1
    memory '512 MB'

    input:
    tuple val(sample), path(reads)
    path index

    output:
    tuple val(sample), path("${sample}.bam"), emit: bam
    path "${sample}.flagstat.txt", emit: flagstat

    script:
    """
    bwa mem -t 1 -R "@RG\\tID:$sample\\tSM:$sample" ref.fa ${reads[0]} ${reads[1]} | samtools sort -o ${sample}.bam -
    samtools index ${sample}.bam
    samtools flagstat ${sample}.bam > ${sample}.flagstat.txt
    """
}

process DEPTH {
    tag "$sample"

    input:
    tuple val(sample), path(bam)

    output:
    path "${sample}.depth.txt.gz"

    script:
    """
    samtools depth -a $bam > ${sample}.depth.txt
    gzip ${sample}.depth.txt
    md5sum $bam ${sample}.depth.txt.gz > ${sample}.md5
    """
}

process SUMMARY {
    input:
    path flagstats

    output:
    path 'summary.tsv'

    script:
    """
    for file in $flagstats; do
        while read -r count plus more what; do
            printf '%s\\t%s\\t%s\\n' "\$(basename "\$file" .flagstat.txt)" "\$count" "\$what"
        done < "\$file"
    done > summary.tsv
    """
}

workflow {
    index = INDEX(Channel.fromPath("${params.data}/genome.fa")).collect()
    reads = Channel.fromFilePairs("${params.data}/S*_R{1,2}.fastq.gz")
    aligned = ALIGN(reads, index)
    DEPTH(aligned.bam)
    SUMMARY(aligned.flagstat.collect())
}
