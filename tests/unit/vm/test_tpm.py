# SPDX-License-Identifier: Apache-2.0
"""The emulated TPM is a process of each start; what it keeps outlives it until it is forgotten."""

from pathlib import Path

import pytest

from millrace.system.errors import Failed
from vm.tpm import Tpm

# Takes the arguments of swtpm(8) that are used, makes its socket, keeps something, and waits to be ended.
SWTPM = """#!/bin/sh
[ "$1 $2 $3 $5 $6" = "socket --tpm2 --tpmstate --terminate --ctrl" ] || exit 2
echo kept >> "${4#dir=}/tpm2-00.permall"
: > "${7#type=unixio,path=}"
exec sleep 60
"""


@pytest.fixture
def tpm(tmp_path: Path) -> Tpm:
    program = tmp_path / "swtpm"
    program.write_text(SWTPM)
    program.chmod(0o755)
    return Tpm(tmp_path / "tpm", tmp_path / "socket", str(program))


def test_state_stays_from_one_start_to_the_next(tpm: Tpm) -> None:
    for _ in range(2):
        tpm.start()
        assert tpm.socket.exists()
        with pytest.raises(Failed, match="machine that runs"):
            tpm.forget()
        tpm.stop()
        assert not tpm.socket.exists()
    assert (tpm.state / "tpm2-00.permall").read_text() == "kept\n" * 2
    tpm.forget()
    assert not tpm.state.exists()


def test_a_tpm_that_does_not_start_is_one_sentence_with_its_words(tpm: Tpm, tmp_path: Path) -> None:
    (tmp_path / "swtpm").write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
    with pytest.raises(Failed, match="swtpm did not start: no room"):
        tpm.start()
    with pytest.raises(Failed, match="not installed"):
        Tpm(tmp_path / "tpm", tmp_path / "socket", str(tmp_path / "none")).start()
