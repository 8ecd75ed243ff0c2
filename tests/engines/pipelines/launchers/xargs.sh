#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
printf 'S1\nS2\nS3\n' | xargs -P 2 -I{} marker --test TEST --engine xargs --job plain-{}
printf 'S1\nS2\n' | xargs -P 2 -I{} sh -c 'marker --test TEST --engine xargs --job shell-{} < /dev/null | marker --test TEST --engine xargs --job shell-{}'
printf 'S1\nS2\n' | xargs -P 2 -n 1 nested.sh --test TEST --engine xargs --job
