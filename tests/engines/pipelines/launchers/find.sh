#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
mkdir -p found; touch found/S1 found/S2 found/S3
find found -type f -exec marker --test TEST --engine find --job {} \;
find found -type f -exec sh -c 'marker --test TEST --engine find --job "$1-shell"; true' sh {} \;
find found -type f -exec marker --test TEST --engine find --job all {} +
find found -type f -execdir nested.sh --test TEST --engine find --job {}-nested \;
