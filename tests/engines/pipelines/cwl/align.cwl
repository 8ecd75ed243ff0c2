# SPDX-License-Identifier: Apache-2.0
cwlVersion: v1.2
class: CommandLineTool
baseCommand: [nested.sh, --test, TEST, --step, align]
requirements:
  EnvVarRequirement: {envDef: {LC_ALL: C}}
inputs:
  sample: {type: string, inputBinding: {prefix: --sample}}
stdout: aligned.txt
outputs:
  aligned: {type: stdout}
  sample: {type: string, outputBinding: {outputEval: "$(inputs.sample)"}}
