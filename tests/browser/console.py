# SPDX-License-Identifier: Apache-2.0
"""A web console that stories are told on: of a booted server, or of the image's files in a few seconds."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from host.layout import REPO
from tests.image.served import NAMESPACES, PORT

GOLDEN = REPO / "cockpit-plugin/test/golden"
CHROMIUM = "/usr/bin/chromium"
ISSUE = "run/issue.d/60-millrace-admin.issue"

Run = Callable[[Sequence[str], str], str]
"""Runs a command as root on the server, with this on standard input; returns what it printed."""


@dataclass(frozen=True)
class Console:
    """Where it is, what starts a browser that sees it, and how slow the server is compared with a real one."""

    url: str
    browser: str
    run: Run
    slowness: float = 1.0

    @property
    def one_time(self) -> str:
        """The password of `admin` until it is changed."""
        said = self.run(["cat", f"/{ISSUE}"], "")
        (password,) = re.findall(r"password: (\S+)", said)
        return str(password)


@contextmanager
def started(browser: str) -> Iterator[Browser]:
    """Chromium, which runs as root here and so without its sandbox."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@contextmanager
def from_files(tree: Path, directory: Path, golden: Path | None = None) -> Iterator[Console]:
    """The console of a blank server made of files, or with `golden` of one that says what was recorded."""
    arguments = [tree, directory, *([golden] if golden else [])]
    program = [sys.executable, "-m", "tests.browser.server", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": f"{REPO / 'tools'}:{REPO}"}
    with (
        (directory.parent / f"{directory.name}.log").open("w+") as log,
        subprocess.Popen(
            [*NAMESPACES, *program],
            cwd=REPO,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdin and process.stdout
        try:
            if process.stdout.readline() != "ready\n":
                log.seek(0)
                raise RuntimeError(f"the console does not start: {log.read()}")
            inside = ["nsenter", f"--mount=/proc/{process.pid}/ns/mnt", f"--net=/proc/{process.pid}/ns/net"]

            def run(argv: Sequence[str], stdin: str) -> str:
                command = [*inside, "chroot", str(directory / "root"), *argv]
                return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout

            browser = directory.parent / f"{directory.name}-chromium"
            browser.write_text(f'#!/bin/sh\nexec nsenter --net=/proc/{process.pid}/ns/net -- {CHROMIUM} "$@"\n')
            browser.chmod(0o755)
            yield Console(f"http://127.0.0.1:{PORT}", str(browser), run)
        finally:
            process.stdin.close()
            process.wait()
