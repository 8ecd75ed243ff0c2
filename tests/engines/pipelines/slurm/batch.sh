#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
here="marker --test TEST --engine slurm --task_id $SLURM_JOB_ID.batch --slurm_job $SLURM_JOB_ID --slurm_step batch"
$here < /dev/null | $here --cat 1
${here/marker/nested.sh} &
wait
srun --ntasks=1 step.sh first
srun --ntasks=2 --overcommit step.sh second
