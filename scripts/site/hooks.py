# SPDX-License-Identifier: Apache-2.0
"""What mkdocs calls: adds the generated pages, and leaves out links into the repository, which the site does not have."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from mkdocs.structure.files import File  # noqa: E402
from notebooks import notebook_page  # noqa: E402
from python_reference import python_page  # noqa: E402
from reference import c_page, cpp_page  # noqa: E402


def on_files(files, config):
    pages = {"reference/cpp.md": cpp_page(ROOT), "reference/python.md": python_page(ROOT), "reference/c.md": c_page(ROOT)}
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        pages[f"notebooks/{path.stem}.md"] = notebook_page(path)
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    up = "../" * (page.file.src_uri.count("/") + 1)
    return re.sub(rf"\[([^\]]*)\]\(({re.escape(up)}[^)]*)\)", lambda link: f"{link[1]} (`{link[2][len(up):]}`)", markdown)
