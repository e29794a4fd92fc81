# SPDX-License-Identifier: Apache-2.0
"""A guest of kernel and /usr alone: what it is given, and what it leaves."""

from pathlib import Path

import pytest

from vm import bare, cpio


def test_an_archive_is_one_that_cpio_reads() -> None:
    packed = cpio.archive({"a/b/init": b"#!/bin/sh\n", "a/job": b"{}"})
    assert len(packed) % 4 == 0
    names, at = [], 0
    while packed[at : at + 6] == b"070701":
        size, length = (int(packed[at + field : at + field + 8], 16) for field in (54, 94))
        names.append(packed[at + 110 : at + 110 + length - 1].decode())
        at += (110 + length + 3) // 4 * 4 + (size + 3) // 4 * 4
    assert names == ["a", "a/b", "a/b/init", "a/job", "TRAILER!!!"]
    assert at == len(packed)


def test_guest_runs_its_module_from_its_files() -> None:
    places = [Path(name) for name in ("kernel", "initrd", "usr", "console", "results")]
    argv = bare.command("qemu", *places, 512, "package.guest", "-smp", "2")
    assert argv[argv.index("-append") + 1].endswith(f"rdinit=/{bare.INIT} -- package.guest")
    assert argv[argv.index("-smp") + 1] == "2"
    packed = bare.overlay({"package/guest.py": b""})
    for name in ("init", "package/guest.py"):
        assert f"{bare.PLACE}/{name}\0".encode() in packed


def test_outcome_has_results_and_the_end_of_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "seq 99 > console; echo found > results; exit 3"
    monkeypatch.setattr(bare.pe, "section", lambda *_: b"")

    def command(*words: object) -> list[str]:
        (console,) = [word for word in words if isinstance(word, Path) and word.name == "console"]
        return ["sh", "-c", f"cd {console.parent} && {script}"]

    monkeypatch.setattr(bare, "command", command)
    left = bare.run(bare.Parts(Path("x.efi"), Path("usr.raw"), "qemu"), {}, 512, 60, "package.guest", [])
    assert left.results == "found\n"
    assert left.console.splitlines() == [str(number) for number in range(100 - bare.CONSOLE_TAIL, 100)]
    assert left.ended.startswith("QEMU ended with 3 after ")
