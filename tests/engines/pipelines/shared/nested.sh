#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shells within shells: a subshell, and one that doesn't execute its only command in its own place.
(marker "$@") && bash -c 'marker "$@"; true' nested "$@"
