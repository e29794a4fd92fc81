#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""Stands in for `millrace` on a server that would need a kernel of its own: prints what the real one printed.

The documents are those that the pages are unit-tested with (cockpit-plugin/test/golden); the state of the server is
the name of a directory in /run/golden/state. Nothing is changed by it.
"""

import itertools
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

GOLDEN = Path("/run/golden")
MINUTE = 60


def main(arguments: list[str]) -> int:
    """Print the document of a verb; half a document of a server that is called broken."""
    words = [word for word in arguments if word != "--json"]
    state = GOLDEN / (GOLDEN / "state").read_text()
    if os.geteuid() and state.name == "1u12-provisioned":
        state = GOLDEN / "1u12-user"
    if state.name == "broken":
        print('{"schema_version": 1, ')
        return 0
    if words[:1] == ["watch"]:
        return _watch(state / "watch.jsonl")
    if words[:2] == ["bench", "follow"]:
        print((GOLDEN / "bench-follow.jsonl").read_text(), end="")
        return 0
    for name, place in itertools.product(_names(words), (state, GOLDEN / "appliance", GOLDEN)):
        if (file := place / name).exists():
            text = file.read_text()
            print(text, end="")
            # a plan that is refused is a document and a refusal
            return int(words == ["plan"] and json.loads(text)["sha256"] is None)
    print(f"millrace: No such command {' '.join(words)!r} in the documents that are replayed.", file=sys.stderr)
    return 1


def _names(words: list[str]) -> list[str]:
    """The longest first: which words are the verb and which its arguments is told by the document that there is."""
    verb = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    protocol = [word.partition("=")[2] for word in words if word.startswith("--protocol=")]
    return ["-".join([*verb[:length], *protocol]) + ".json" for length in range(len(verb), 0, -1)]


def _watch(file: Path) -> int:
    """The last minute at once, then a line a second, without an end: rates swing around those that are recorded."""
    line = json.loads(file.read_text().splitlines()[-1])
    start = time.time() - MINUTE
    for second in itertools.count():
        time.sleep(max(0.0, start + second - time.time()))
        swing = 1 + 0.15 * math.sin(second / 4) + 0.1 * math.sin(second / 1.7)
        print(json.dumps(_swung(line, swing) | {"time": start + second}), flush=True)
    raise AssertionError("nothing ends it but the page")


def _swung(value: Any, swing: float) -> Any:
    """What is counted in a second is multiplied."""
    if isinstance(value, list):
        return [_swung(one, swing) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: one * swing if name.endswith("_per_second") and one is not None else _swung(one, swing)
        for name, one in value.items()
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
