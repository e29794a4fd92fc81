# SPDX-License-Identifier: Apache-2.0
"""A server whose modules lack fixes is told apart from one with all of them, patch by patch."""

from pathlib import Path

import pytest

from host import layout
from millrace.inventory.patched import PatchedModule, PatchedModules, file
from millrace.observe.health.checks import kernel
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import paths
from millrace.system.documents import write_model
from tests.unit.observe.health.servers import host, well

IMAGE, DEBIAN, OTHER = (byte * 20 for byte in (b"\x01", b"\x02", b"\x03"))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    (tmp_path / "sys/module/raid456").mkdir(parents=True, exist_ok=True)
    return tmp_path / "sys/module/raid456"


def recorded(*patches: str, name: str = "raid456") -> None:
    """The image was built with these patches."""
    one = PatchedModule(name=name, build_id=IMAGE.hex(), patches=[*patches], debian=DEBIAN.hex())
    write_model(file(), PatchedModules(modules=[one]))


def loaded(module: Path, build: bytes, switched: bool = True) -> None:
    """What the kernel shows of a module."""
    (module / "notes").mkdir()
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + build
    (module / "notes/.note.gnu.build-id").write_bytes(note)
    if switched:
        (module / "parameters").mkdir()
        (module / "parameters/direct_degraded_reads").write_text("Y\n")


def found() -> HealthFinding:
    (one,) = kernel.check(host())
    return one


def test_stock_image_is_a_warning_with_what_it_can_cost(module: Path) -> None:
    loaded(module, DEBIAN, switched=False)
    assert (found().level, found().kind) == (Level.WARN, "stock")
    assert "acknowledge the write and keep old data" in found().sentence
    todo = found().todo
    assert todo is not None and "without --stock-modules" in todo


def test_module_of_the_image_with_all_patches_is_all_right(module: Path) -> None:
    recorded(*kernel.RAID.without)
    loaded(module, IMAGE)
    assert (found().level, found().sentence) == (Level.OK, "The RAID module has all 5 fixes of Millrace.")


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (["0005"], "lacks fix 0005 of Millrace: after a repaired bad block, a write beside it can fail"),
        (["0001", "0002"], "lacks fixes 0001, 0002 of Millrace: if a drive refuses part of a large write, the array "),
    ],
)
def test_module_that_was_built_with_a_part_of_the_patches_is_named_with_what_it_lacks(
    module: Path, lacking: list[str], said: str
) -> None:
    recorded(*(one for one in kernel.RAID.without if one not in lacking))
    # the parameter of 0004 says nothing of the others
    loaded(module, IMAGE)
    assert (found().level, found().kind) == (Level.WARN, "partial")
    assert said in found().sentence
    assert all((cost in found().sentence) == (one in lacking) for one, cost in kernel.RAID.without.items())


def test_module_of_debian_in_an_image_with_another_one_lacks_all(module: Path) -> None:
    recorded(*kernel.RAID.without)
    loaded(module, DEBIAN, switched=False)
    assert (found().level, found().kind) == (Level.WARN, "stock")
    assert all(cost in found().sentence for cost in kernel.RAID.without.values())
    assert found().todo == kernel.RESTART


@pytest.mark.parametrize("record", [True, False])
def test_module_of_another_build_is_not_taken_for_the_one_of_the_image(module: Path, record: bool) -> None:
    """As an older one of ours that was loaded by hand: the parameter of 0004 is there."""
    if record:
        recorded(*kernel.RAID.without)
    loaded(module, OTHER)
    assert (found().level, found().kind) == (Level.WARN, "unknown")
    assert found().sentence.endswith("is from another build than the image, and its fixes are not known.")


def test_module_of_another_build_without_the_parameter_lacks_at_least_that_patch(module: Path) -> None:
    recorded(*kernel.RAID.without)
    loaded(module, OTHER, switched=False)
    assert found().sentence.endswith("It lacks fix 0004: reads are slower while a drive is missing.")


def test_module_that_is_not_loaded_is_no_finding(module: Path) -> None:
    module.rmdir()
    assert kernel.check(host()) == []


def test_each_patch_that_an_image_carries_has_what_its_lack_costs() -> None:
    patches = (layout.REPO / "tools/host/modules/patches").glob("*.patch")
    assert {path.name.partition("-")[0] for path in patches} == {
        number for module in kernel.FIXED for number in module.without
    }


def test_module_of_volumes_is_checked_while_it_is_loaded(module: Path) -> None:
    module.rmdir()
    nvmet = module.with_name("nvmet")
    nvmet.mkdir()
    loaded(nvmet, DEBIAN, switched=False)
    assert (found().kind, found().sentence) == (
        "nvmet-stock",
        "The volume module nvmet is Debian's: a host can read and write a volume without the secret of its export.",
    )
    recorded("0008", name="nvmet")
    (nvmet / "notes/.note.gnu.build-id").write_bytes(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + IMAGE)
    assert found().sentence == "The volume module nvmet has the fix of Millrace."


@pytest.mark.parametrize(
    ("build", "patches", "said"),
    [
        (IMAGE, ["0006", "0007"], "OK: The NFS module sunrpc has all 2 fixes of Millrace."),
        (IMAGE, ["0006"], "sunrpc-partial: The NFS module sunrpc lacks fix 0007 of Millrace: over NFS a user"),
        (DEBIAN, ["0006", "0007"], "sunrpc-stock: The NFS module sunrpc is Debian's and not that of the image: over "),
        (DEBIAN, [], "sunrpc-stock: The NFS module sunrpc is Debian's: over NFS a user has the groups that the client"),
        (OTHER, ["0006", "0007"], "sunrpc-unknown: The NFS module sunrpc is from another build than the image, and"),
    ],
)
def test_module_of_nfs_is_checked_beside_that_of_raid(
    module: Path, build: bytes, patches: list[str], said: str
) -> None:
    module.rmdir()
    sunrpc = module.with_name("sunrpc")
    sunrpc.mkdir()
    if patches:
        recorded(*patches, name="sunrpc")
    loaded(sunrpc, build, switched=False)
    finding = found()
    assert f"{finding.kind or finding.level}: {finding.sentence}".startswith(said)
