# SPDX-License-Identifier: Apache-2.0
cwlVersion: v1.2
class: CommandLineTool
requirements:
  ShellCommandRequirement: {}
  InlineJavascriptRequirement: {}
  InitialWorkDirRequirement: {listing: [$(inputs.aligned)]}
arguments:
  - {shellQuote: false, valueFrom: "marker --test TEST --step count --sample $(inputs.sample) < $(inputs.aligned.basename)"}
  - {shellQuote: false, valueFrom: "| marker --test TEST --step count --cat 1 --sample ${return inputs.sample;} > counted.txt"}
inputs:
  aligned: File
  sample: string
outputs:
  counted: {type: File, outputBinding: {glob: counted.txt}}
