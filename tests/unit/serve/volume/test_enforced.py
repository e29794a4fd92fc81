# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel asks every queue of a host for its secret: known by the build of nvmet."""

from pathlib import Path

import pytest

from millrace.inventory.patched import PatchedModule, PatchedModules, file
from millrace.serve.volume.enforced import asks_for_secrets
from millrace.system import paths
from millrace.system.documents import write_model

IMAGE, DEBIAN = b"\x01" * 20, b"\x02" * 20


@pytest.mark.parametrize(
    ("patches", "running", "asks"),
    [
        (["0008"], IMAGE, True),
        # it is loaded with the first export
        (["0008"], None, True),
        (["0008"], DEBIAN, False),
        ([], IMAGE, False),
        (None, None, False),
        (None, DEBIAN, False),
    ],
)
def test_secrets_are_asked_for_by_the_module_of_the_image_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patches: list[str] | None, running: bytes | None, asks: bool
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    if patches is not None:
        module = PatchedModule(name="nvmet", build_id=IMAGE.hex(), patches=patches, debian=DEBIAN.hex())
        write_model(file(), PatchedModules(modules=[module]))
    if running is not None:
        notes = tmp_path / "sys/module/nvmet/notes"
        notes.mkdir(parents=True)
        (notes / ".note.gnu.build-id").write_bytes(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + running)
    assert asks_for_secrets() is asks
