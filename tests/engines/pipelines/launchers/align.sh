#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
marker --test TEST --engine shell --step align.sh --job "$1" < /dev/null | marker --test TEST --engine shell --step align.sh --job "$1" --cat 1
for i in 1 2; do (nested.sh --test TEST --engine shell --step align.sh --job "$1"); done
