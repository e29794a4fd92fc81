# SPDX-License-Identifier: Apache-2.0
"""Run on the client: list a share with smbclient, then read, rename and delete each of its files by the name shown.

Arguments: address, share, file of credentials, what to do (`read`, or `all`). Prints JSON: bytes as text with
surrogateescape. smbclient prints a name as the server sends it, with characters of the private area.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ENTRY = re.compile(r"  (.*?) +([DAHSRN]*) +(\d+)  \w{3} \w{3} +\d+ [\d:]+ \d{4}")
PRIVATE = {0xF000 + code: code for code in range(1, 32)} | {0xF020 + n: ord(c) for n, c in enumerate('"*:<>?\\|')}


def client(commands: str) -> str:
    argv = [
        "smbclient",
        "-m",
        "SMB3_11",
        "-t",
        "300",
        "-A",
        sys.argv[3],
        f"//{sys.argv[1]}/{sys.argv[2]}",
        "-c",
        commands,
    ]
    done = subprocess.run(argv, capture_output=True, check=False)
    return (done.stdout + done.stderr).decode(errors="surrogateescape")


def listed() -> list[str]:
    """Names of what is no directory. A blank at the end of a name is lost in smbclient's columns."""
    lines = client("ls").split("\n")
    odd = [name for name in lines if "NT_STATUS" in name or "bad finfo" in name]
    if odd:
        sys.exit(f"the listing ends: {odd}")
    found = [match for match in map(ENTRY.fullmatch, lines) if match]
    return [match[1] for match in found if "D" not in match[2]]


def main() -> None:
    names = listed()
    report: dict[str, object] = {"listed": [name.translate(PRIVATE) for name in names], "shown": names}
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        client("; ".join(f'get "{name}" {number}' for number, name in enumerate(names)))
        read = {}
        for number, name in enumerate(names):
            if os.path.exists(str(number)):
                with open(str(number), "rb") as file:
                    read[name] = os.fsdecode(file.read())
    report["read"] = read
    if sys.argv[4] == "all":
        client("; ".join(f'rename "{name}" "{number} renamed.{name[-1]}"' for number, name in enumerate(names)))
        report["renamed"] = [name.translate(PRIVATE) for name in listed()]
        report["said"] = client("; ".join(f'del "{name}"' for name in listed()))
        report["left"] = listed()
    print(json.dumps(report))


main()
