#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
marker --test TEST --engine slurm --task_id "$SLURM_JOB_ID.$SLURM_STEP_ID" --slurm_job "$SLURM_JOB_ID" \
  --slurm_step "$SLURM_STEP_ID" --slurm_task "$SLURM_PROCID" --job "$1"
true
