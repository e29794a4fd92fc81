# SPDX-License-Identifier: Apache-2.0
"""Each patch of the kernel has a form that the kernel takes, a set, a description, and a place in the record."""

import re
from pathlib import Path

import pytest

from host.modules import record, sets
from millrace.inventory.patched import PatchedModules
from millrace.observe.health.checks import kernel
from millrace.system.errors import Failed
from tests.unit.host.modules_of import BUILD, DEBIAN, module, rebuilt

HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@pytest.mark.parametrize(
    "path", [*sets.SUNRPC.changes, *sets.NVMET.changes, *sets.MD.changes], ids=lambda path: path.name[:4]
)
def test_patch_has_the_form_that_the_kernel_takes(path: Path) -> None:
    """Documentation/process/submitting-patches.rst; who sends it adds From and Signed-off-by."""
    text = path.read_text()
    message, _, rest = text.partition("\n---\n")
    subject, blank, *body = message.splitlines()
    assert re.fullmatch(r"Subject: \[PATCH\] (md/raid5|sunrpc|nvmet): .{1,60}", subject) and blank == ""
    assert all(len(line) <= 75 for line in body)
    assert not re.search(r"@[A-Z]+@|millrace", text, re.IGNORECASE)
    lines = iter(rest.splitlines())
    hunks = 0
    for line in lines:
        if not (match := HUNK.match(line)):
            continue
        hunks += 1
        before, after = (int(number or 1) for number in match.groups())
        while before or after:
            kind = next(lines)[:1]
            assert kind in {" ", "+", "-", ""}
            before, after = before - (kind != "+"), after - (kind != "-")
    assert hunks


def test_every_patch_is_of_a_set_and_described() -> None:
    files = {path.name for path in sets.PATCHES.glob("*.patch")}
    assert files == {name for one in sets.SETS for name in one.patches}
    described = (sets.PATCHES / "README.md").read_text()
    assert all(f"`{name[:4]}`" in described for name in files)


def test_record_has_the_patches_of_a_module_by_its_build(tmp_path: Path) -> None:
    rebuilt(tmp_path)
    text = record.record(tmp_path, {"drivers/md/raid456": module(build=DEBIAN), "fs/nfsd/nfsd": module()})
    sunrpc, nvmet, raid = PatchedModules.model_validate_json(text).modules
    assert (raid.name, raid.build_id, raid.debian) == ("raid456", BUILD.hex(), DEBIAN.hex())
    assert raid.patches == ["0001", "0002", "0003", "0004", "0005"] == [*kernel.RAID.without]
    assert (sunrpc.name, sunrpc.patches) == ("sunrpc", [*kernel.SUNRPC.without])
    assert (nvmet.name, nvmet.patches) == ("nvmet", [*kernel.NVMET.without])
    assert PatchedModules.model_validate_json(record.record(tmp_path, {})).modules[0].debian is None
    (tmp_path / "drivers/md/raid456.ko").write_bytes(b"\x7fELF")
    with pytest.raises(Failed, match=r"drivers/md/raid456\.ko has no build ID"):
        record.record(tmp_path, {})
