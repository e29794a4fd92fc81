# SPDX-License-Identifier: Apache-2.0
"""`tools/inventory` prints the hardware of another server."""

import shutil
from pathlib import Path

import pytest

from host.inventory import main
from millrace.inventory.model import Inventory
from millrace.system.errors import BadInput
from tests.unit.inventory.captures import captured, seen


@pytest.mark.skipif(not shutil.which("zstd"), reason="needs zstd")
def test_capture_is_printed_as_the_document_of_the_server_and_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real, file = captured(tmp_path)
    assert main(["--json", str(file)]) == 0
    copy = Inventory.model_validate_json(capsys.readouterr().out)
    assert seen(copy) == seen(real)
    assert main([str(file)]) == 0
    text = capsys.readouterr().out
    assert f"Drives: {len(real.drives)}\n" in text
    assert all(drive.serial in text for drive in copy.drives)


def test_missing_capture_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"^{tmp_path}/none is missing$"):
        main([str(tmp_path / "none")])
