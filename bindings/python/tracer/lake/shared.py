# SPDX-License-Identifier: Apache-2.0
"""What other packages use of tracer.lake."""

from ._as_recordings import has_tables, opened_lake
from ._fetch import fetch, fetch_recent
from ._layout import is_lake
from ._listed import host_months, lake_at, listed_runs
from ._over_hosts import LakeRun

__all__ = ["LakeRun", "fetch", "fetch_recent", "has_tables", "host_months", "is_lake", "lake_at", "listed_runs", "opened_lake"]
