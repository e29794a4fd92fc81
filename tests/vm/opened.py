# SPDX-License-Identifier: Apache-2.0
"""A report in a browser that has nothing but the file."""

from dataclasses import dataclass
from pathlib import Path

from tests.browser.console import CHROMIUM, started


@dataclass(frozen=True)
class Opened:
    """What Chromium asked for, what it complained of, and how many pictures it drew with a size."""

    requests: list[str]
    complaints: list[str]
    drawn: int


def in_chromium(file: Path) -> Opened:
    """Open a page from a file, without a network."""
    requests: list[str] = []
    complaints: list[str] = []
    with started(CHROMIUM) as browser:
        context = browser.new_context(offline=True)
        context.on("request", lambda request: requests.append(request.url))
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(error.message))
        page.goto(file.as_uri(), wait_until="networkidle")
        boxes = [picture.bounding_box() for picture in page.locator("svg").all()]
    return Opened(requests, complaints, sum(bool(box and box["width"] and box["height"]) for box in boxes))
