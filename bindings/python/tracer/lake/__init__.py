# SPDX-License-Identifier: Apache-2.0
"""What many hosts recorded, in one folder or bucket: docs/lake.md."""
