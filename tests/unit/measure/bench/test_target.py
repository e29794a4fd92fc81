# SPDX-License-Identifier: Apache-2.0
"""The pool is exported to the clients of a run while it lasts."""

import os
import pwd
from pathlib import Path
from threading import Event

import pytest

from millrace.measure.bench.run.remote import target, tokens
from millrace.serve.share import nfs
from millrace.system import paths
from millrace.system.errors import Failed
from millrace_client import listen
from tests.unit.measure.bench.remotes import HERE, TOKEN, client, listening
from tests.unit.measure.bench.tools import Tools


def test_the_pool_is_exported_to_the_clients_of_the_run_only_while_it_lasts(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwnam", lambda name: me)
    tokens.keep("gpu1", TOKEN)
    tools, directory = Tools(), Path("/srv/pool/.millrace-bench")
    with (
        listening(monkeypatch) as calls,
        target.opened("nfs-tcp", directory, [client()], Event(), tools) as (where, made),
    ):
        assert (where.directory, where.copies, [connection.name for connection in made]) == (
            Path(listen.MOUNT),
            1,
            ["gpu1"],
        )
        (export,) = [call for call in tools.calls if call[0] == "exportfs"]
        assert export[-1] == f"{HERE}:{directory}"
        # a client of the run is a client of shares too, and all are on one file system
        assert "sign_fh" in export[2].split(",")
        # what `exportfs -ra` of a change of shares loads is the same
        assert (paths.ROOT / nfs.BENCH_EXPORTS).read_text() == f"{directory} {HERE}({export[2]})\n"
        assert any("proto=tcp" in " ".join(call) for call in calls)
    assert tools.calls[-1] == ["exportfs", "-u", f"{HERE}:{directory}"]
    assert not (paths.ROOT / nfs.BENCH_EXPORTS).exists()


def test_a_client_that_cannot_mount_is_one_sentence(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwnam", lambda name: me)
    tokens.keep("gpu1", TOKEN)
    tools = Tools()
    refusal = {"mount -t": (32, "mount.nfs4: access denied by server")}
    there = target.opened("nfs-tcp", Path("/srv/pool/.millrace-bench"), [client()], Event(), tools)
    sentence = r"client gpu1: .* does not mount: mount\.nfs4"
    with listening(monkeypatch, answers=refusal), pytest.raises(Failed, match=sentence), there:
        raise AssertionError
    assert tools.calls[-1][:2] == ["exportfs", "-u"]
