"""make_page.py OUT PAGE.html PAGE.css SCRIPT.js...: puts style and scripts into the page.

The page's Content-Security-Policy allows only this style and this script, by their hashes. So
markup that a profile smuggles in would not be executed.
"""

import base64
import hashlib
import pathlib
import sys


def hash_source(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def main(out, page, style, *scripts):
    read = [pathlib.Path(name).read_text(encoding="utf-8") for name in (page, style, *scripts)]
    page, style = read[:2]
    script = "(() => {\n'use strict';\n" + "\n".join(read[2:]) + "})();\n"
    for text in (style, script):
        if "</s" in text or "<!--" in text:
            sys.exit("make_page.py: style and scripts must not hold '</s' or '<!--'")
    policy = (f"default-src 'none'; script-src {hash_source(script)}; "
              f"style-src {hash_source(style)}; base-uri 'none'; form-action 'none'")
    parts = {"policy": policy, "style": style, "script": script}
    for name, text in parts.items():
        marker = f"@{name}@"
        if page.count(marker) != 1:
            sys.exit(f"make_page.py: {marker} must stand in the page once")
        page = page.replace(marker, text)
    pathlib.Path(out).write_text(page, encoding="utf-8")


main(*sys.argv[1:])
