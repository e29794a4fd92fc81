# SPDX-License-Identifier: Apache-2.0
"""A command at the end of a service that has failed, and of no other."""

import subprocess

import pytest

from host.layout import REPO
from tests.unit.boot.units import unit

PROGRAM = REPO / "mkosi.extra/usr/lib/millrace/unless-success"


@pytest.mark.parametrize(
    ("result", "output"), [("success", ""), ("signal", "ran well\n"), ("exit-code", "ran well\n"), ("", "ran well\n")]
)
def test_command_runs_unless_the_service_has_succeeded(result: str, output: str) -> None:
    command = [PROGRAM, "echo", "ran", "well"]
    done = subprocess.run(
        command, env={"SERVICE_RESULT": result, "PATH": "/bin"}, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (output, "")


def test_writes_go_on_where_a_check_of_arrays_was_killed() -> None:
    service = unit("millrace-scrub.service")
    assert service["ExecStopPost"] == ["/usr/lib/millrace/unless-success /usr/bin/millrace pool scrub release"]
