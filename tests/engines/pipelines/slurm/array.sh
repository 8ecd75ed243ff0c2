#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
marker --test TEST --engine slurm --task_id $SLURM_JOB_ID.batch --slurm_job $SLURM_JOB_ID --slurm_step batch --job "array-$SLURM_ARRAY_TASK_ID"
