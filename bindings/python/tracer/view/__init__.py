# SPDX-License-Identifier: Apache-2.0
"""Views of what lives: `tracer top`, `tracer ui`, `tracer notify`."""
