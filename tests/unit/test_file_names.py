# SPDX-License-Identifier: Apache-2.0
"""A file of unit tests is named after the module that it tests: tests/unit/WING/ROOM/test_MODULE[_ASPECT].py."""

from pathlib import Path

import pytest

from host.layout import REPO

UNIT = REPO / "tests/unit"

# What a directory of tests/unit tests, where that is not the room of tools/millrace with its name.
TESTED = {
    "boot": ("units", "mkosi.extra/usr/lib/millrace", "mkosi.initrd.conf/mkosi.extra/usr/lib/millrace"),
    "fakes": ("tests/fakes",),
    "host": ("tools/host",),
    "millrace_client": ("tools/millrace_client",),
    "perf": ("tools/host/perf",),
    "plugin": ("cockpit-plugin/test",),
    "vm": ("tools/vm",),
}

# Tests of a whole room, or of files that are no program.
OF_THE_ROOM = {
    "measure/bench": {"imports"},
    # what a host of the repository runs
    "host": {"workflows"},
    "boot": {
        "confinement",
        "factory_reset",
        "firewall",
        "journald",
        "kernel_answers",
        "sshd",
        "unattended",
        "unit_order",
        "units",
    },
    "serve/join": {"shares"},
    "millrace_client": {"oldest_python"},
    "plan": {"sentences"},
    # what a source sends, or a hostile one
    "protect/replica": {"replica"},
    "serve/config": {"released_documents"},
    # programs that stories of a booted server run
    "vm": {"hostile_drives"},
}


def modules(room: str) -> set[str]:
    """Return the names that tests of a room may begin with."""
    tops = TESTED.get(room, (f"tools/millrace/{room}",))
    found = {path.stem for top in tops for path in (REPO / top).rglob("*") if "__pycache__" not in path.parts}
    return {name.replace("-", "_") for name in found} | OF_THE_ROOM.get(room, set())


def room_of(path: Path) -> str:
    """Return the room that a file of tests is of, as a path below tools/millrace."""
    return str(path.parent.relative_to(UNIT))


def misnamed(files: list[Path]) -> list[str]:
    """Return the files whose name does not begin with a module of their room."""
    wrong = []
    for path in files:
        room, subject = room_of(path), path.stem.removeprefix("test_")
        if not any(f"{subject}_".startswith(f"{name}_") for name in modules(room)):
            wrong.append(f"{room}/{path.name}")
    return wrong


def test_file_is_named_after_a_module_of_its_room() -> None:
    files = list(UNIT.glob("*/**/test_*.py"))
    assert len(files) > 100
    assert misnamed(files) == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("serve/share/test_a_share_is_served.py", True),
        ("serve/share/test_quotation.py", True),
        ("serve/share/test_quota.py", False),
        ("serve/share/test_quota_limits.py", False),
        ("observe/pool/test_quota.py", True),
        ("observe/metrics/sources/test_rdma.py", False),
        ("boot/test_md_event.py", False),
    ],
)
def test_name_of_another_room_or_of_no_module_is_found(name: str, wrong: bool) -> None:
    assert misnamed([UNIT / name]) == ([name] if wrong else [])
