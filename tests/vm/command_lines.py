# SPDX-License-Identifier: Apache-2.0
"""Many command lines of `millrace` in one process: under emulation Python takes seconds to start."""

import json
from collections.abc import Sequence

from tests.vm.box import Box
from vm.agent import Result

ASK = """
import contextlib, io, json, sys
from millrace.cli import main
said = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as end:
            said.append([end.code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""


def said_to(box: Box, lines: Sequence[Sequence[str]], seconds: float = 600.0) -> list[Result]:
    """Return what each command line ended with and printed, in their order."""
    answer = box.machine.run(["python3", "-c", ASK], stdin=json.dumps(lines), seconds=seconds)
    return [Result(tuple(words), *said) for words, said in zip(lines, json.loads(answer.out), strict=True)]
