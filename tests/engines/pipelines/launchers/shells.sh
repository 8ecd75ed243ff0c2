#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
./align.sh S1 &
bash align.sh S2
wait
sh -e align.sh S3
(cd sub && bash -euo pipefail ../align.sh S4)
