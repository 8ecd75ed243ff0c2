# SPDX-License-Identifier: Apache-2.0
cwlVersion: v1.2
class: CommandLineTool
baseCommand: [marker, --test, TEST, --step, merge]
inputs:
  counted: {type: "File[]", inputBinding: {prefix: --depth}}
stdout: merged.txt
outputs:
  merged: {type: stdout}
