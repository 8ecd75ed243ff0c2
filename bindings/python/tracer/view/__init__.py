# SPDX-License-Identifier: Apache-2.0
"""Views of what runs and ran: a terminal view, a page."""
