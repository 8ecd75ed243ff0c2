#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
parallel --will-cite -j 2 marker --test TEST --engine parallel --job plain-{} ::: S1 S2 S3
parallel --will-cite -j 2 'marker --test TEST --engine parallel --job piped-{} < /dev/null | marker --test TEST --engine parallel --job piped-{} --cat 1' ::: S1 S2
one() { marker --test TEST --engine parallel --job "function-$1"; nested.sh --test TEST --engine parallel --job "function-$1"; }
export -f one
parallel --will-cite -j 2 one ::: S1 S2
printf 'S1\nS2\n' | parallel --will-cite -j 2 --pipe -N 1 marker --test TEST --engine parallel --cat 1 --job pipe-{#} > /dev/null
