# SPDX-License-Identifier: Apache-2.0
"""Who used the server is forgotten on the pool, and so are the addresses of clients in its history."""

from millrace.lifecycle.keep import forget
from millrace.lifecycle.keep.model import Forgotten
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from tests.unit.lifecycle.keep.conftest import Server

WHO = Forgotten(by="admin", at="2026-11-23T10:00:00+00:00")


def test_history_of_the_pool_is_removed_with_its_users(server: Server) -> None:
    server.keep()
    history = server.root / "srv/pool" / paths.POOL_HISTORY
    history.parent.mkdir(mode=0o700)
    for name in (history.name, f"{history.name}.damaged", f"{history.name}-journal"):
        history.with_name(name).write_text("10.0.0.5")
    forget.forget_people(load_pool(), server.run, WHO)
    assert list(history.parent.iterdir()) == [] and len(server.kept()) == 1


def test_pool_without_a_history_is_forgotten_as_before(server: Server) -> None:
    server.keep()
    assert forget.forget_people(load_pool(), server.run, WHO) == 2
    assert server.kept() == ["state-000002.tar.gz"]
