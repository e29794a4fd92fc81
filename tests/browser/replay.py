#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""Stands in for `millrace` on a server that would need a kernel of its own: prints what the real one printed.

The documents are those that the pages are unit-tested with (cockpit-plugin/test/golden); the state of the server is
the name of a directory in /run/golden/state. Nothing is changed by it.
"""

import json
import os
import sys
import time
from pathlib import Path

GOLDEN = Path("/run/golden")


def main(arguments: list[str]) -> int:
    words = [word for word in arguments if word != "--json"]
    state = GOLDEN / (GOLDEN / "state").read_text().strip()
    if os.geteuid() and state.name == "1u12-provisioned":
        state = GOLDEN / "1u12-user"
    if words[:1] == ["watch"]:
        return _watch(state / "watch.jsonl")
    if words[:2] == ["bench", "follow"]:
        print((GOLDEN / "bench-follow.jsonl").read_text(), end="")
        return 0
    name = _name(words)
    for file in (state / name, GOLDEN / name):
        if file.exists():
            text = file.read_text()
            print(text, end="")
            # a plan that is refused is a document and a refusal
            return int(words == ["plan"] and json.loads(text)["sha256"] is None)
    print(f"millrace: No such command {' '.join(words)!r} in the documents that are replayed.", file=sys.stderr)
    return 1


def _name(words: list[str]) -> str:
    verb: list[str] = []
    for word in words:
        if word.startswith("-") or len(verb) == 2:
            break
        verb.append(word)
    if verb == ["client", "recipe"]:
        verb.append(words[words.index("--protocol") + 1])
    return "-".join(verb) + ".json"


def _watch(file: Path) -> int:
    """A line a second from now on, without an end; the first of a recording knows no rates yet."""
    _, *lines = [json.loads(line) for line in file.read_text().splitlines()]
    while True:
        for line in lines:
            print(json.dumps(line | {"time": time.time()}), flush=True)
            time.sleep(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
