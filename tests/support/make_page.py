"""Puts the page's files together into one, which opens from disk by a double click.

    make_page.py module/extras/page/index.html build/page/index.html

The style sheet is inserted as it is. The modules follow each other, imported ones first, without their
`import` lines and `export` words. Top-level names must therefore differ; if they do not, the browser
reports an error.
"""
import re
import sys
from pathlib import Path

IMPORT = re.compile(r'^import .*?from "\./([\w.]+)";\n', re.M | re.S)


def modules(path, done):
    """The text of a module and, before it, of those it imports, each once."""
    if path in done:
        return ""
    done.add(path)
    text = path.read_text(encoding="utf-8")
    before = "".join(modules(path.parent / name, done) for name in IMPORT.findall(text))
    return before + "\n// ---- " + path.name + "\n\n" + re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.M)


def page(source):
    html = source.read_text(encoding="utf-8")
    style = (source.parent / "style.css").read_text(encoding="utf-8")
    script = modules(source.parent / "main.js", set())
    assert "</script" not in script and "</style" not in style
    for old, new in (('<link rel="stylesheet" href="style.css">', f"<style>\n{style}</style>"),
                     ('<script type="module" src="main.js"></script>', f'<script type="module">{script}</script>')):
        assert html.count(old) == 1, old
        html = html.replace(old, new)
    return html


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(source), encoding="utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes, open it in a browser")
