# SPDX-License-Identifier: Apache-2.0
cwlVersion: v1.2
class: Workflow
requirements:
  ScatterFeatureRequirement: {}
inputs:
  samples: "string[]"
outputs:
  merged: {type: File, outputSource: merge/merged}
steps:
  align:
    run: align.cwl
    scatter: sample
    in: {sample: samples}
    out: [aligned, sample]
  count:
    run: count.cwl
    scatter: [aligned, sample]
    scatterMethod: dotproduct
    in: {aligned: align/aligned, sample: align/sample}
    out: [counted]
  merge:
    run: merge.cwl
    in: {counted: count/counted}
    out: [merged]
