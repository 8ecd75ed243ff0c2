# SPDX-License-Identifier: Apache-2.0
"""Notebooks as pages in Markdown: text and code, without results, which are those of whoever runs them."""
import json


def notebook_page(path):
    parts = []
    for each in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(each["source"])
        parts.append(text if each["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join([*parts, f"The notebook: [{path.name}]({path.name})", ""])
