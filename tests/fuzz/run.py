# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.fuzz.run TARGET [LIBFUZZER ARGUMENT...]`: one target under atheris; `tools/test fuzz` starts it."""

import os
import sys
import traceback

import atheris

from tests.fuzz.contract import Check, hold, load

# tarfile reads the headers of archives for us
INSTRUMENTED = ["millrace", "millrace_client", "host", "tarfile"]


def one(check: Check, data: bytes) -> None:
    """Check an input; libFuzzer keeps one that breaks the contract, and counts what came before."""
    try:
        hold(check, data)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        # an exception would end the interpreter first, which takes longer than libFuzzer's alarm allows
        os.abort()


def main(arguments: list[str]) -> None:
    """Run a target until libFuzzer ends the process: with 0 after all its runs, otherwise where the contract broke."""
    name, *options = arguments
    with atheris.instrument_imports(include=INSTRUMENTED):
        check = load(name)
    atheris.Setup([sys.argv[0], *options], lambda data: one(check, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
