// SPDX-License-Identifier: Apache-2.0
// Tasks of all kinds, whose tools are `marker`, which lies in bin/.
params.test = ''
params.depth = 1
params.odd = "it's (1)"

process ALIGN {
  tag "$sample"
  input:
  val sample
  output:
  tuple val(sample), path("${sample}.txt")
  script:
  truth = "--test ${params.test} --step ${task.process} --attempt ${task.attempt}"
  """
  : > empty
  marker $truth --sample $sample < empty | marker $truth --sample $sample --cat 1 | sort > ${sample}.txt
  nested.sh $truth --sample $sample
  """
}

process COUNT {
  input:
  tuple val(sample), path(file)
  output:
  path "count-*"
  script:
  truth = "--test ${params.test} --step ${task.process} --attempt ${task.attempt}"
  """
  marker $truth --sample $sample &
  for i in 1 2; do marker $truth --sample $sample; done
  wait
  printf 'a\\nb\\n' | xargs -P 2 -I{} marker $truth --sample $sample --word {}
  cat $file > count-$sample
  """
}

process FLAKY {
  tag "$sample"
  errorStrategy 'retry'
  maxRetries 2
  input:
  val sample
  output:
  val sample
  script:
  truth = "--test ${params.test} --step ${task.process} --attempt ${task.attempt}"
  """
  marker $truth --sample $sample --exit ${task.attempt == 1 && sample == 'S2' ? 3 : 0}
  """
}

process ODD {
  tag "$text"
  beforeScript 'marker --test TEST --hook before'
  afterScript 'marker --test TEST --hook after'
  stageInMode 'copy'
  input:
  val text
  path file
  output:
  path 'made'
  script:
  truth = "--test ${params.test} --step ${task.process} --attempt ${task.attempt}"
  """
  #!/usr/bin/env python3
  import subprocess
  subprocess.check_call("marker $truth".split())
  subprocess.check_call("marker $truth && true", shell=True)
  open("made", "w").close()
  """
}

process MERGE {
  publishDir 'results', mode: 'copy'
  input:
  path files
  output:
  path 'all'
  script:
  truth = "--test ${params.test} --step ${task.process} --attempt ${task.attempt}"
  """
  cat $files > all
  marker $truth --depth ${params.depth}
  """
}

workflow QC {
  take:
  samples
  main:
  ALIGN(samples)
  FLAKY(samples)
  if (params.odd)
    ODD(Channel.of("a b", params.odd, 'x: "y"'), file("$projectDir/input.txt"))
  emit:
  ALIGN.out
}

workflow {
  QC(Channel.of('S1', 'S2', 'S3', 'S4'))
  COUNT(QC.out)
  MERGE(COUNT.out.collect())
}
