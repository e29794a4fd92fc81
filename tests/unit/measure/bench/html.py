# SPDX-License-Identifier: Apache-2.0
"""A page as a browser begins with it."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Everything that a page could load, and how many bars it draws."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.bars = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.bars += tag == "rect"
        self.loaded += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "srcset", "data", "action")]
        self.loaded += [tag] if tag in ("script", "link", "iframe", "object", "embed", "b") else []
