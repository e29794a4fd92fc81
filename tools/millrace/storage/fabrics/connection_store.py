# SPDX-License-Identifier: Apache-2.0
"""Where connections are recorded: on the boot drive. The pool cannot keep them, because it lies behind them."""

from contextlib import AbstractContextManager

from millrace.storage.fabrics.fabrics_model import FabricsConnection, FabricsConnections, FabricsSecrets
from millrace.system import locks, paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed
from millrace.system.files import sync


def change() -> AbstractContextManager[None]:
    """Hold the lock of changes. Refused: the caller is not root, or another change is under way."""
    return locks.held(paths.run_dir() / "backend/lock", "another change of connections is under way: try again later")


def connections() -> list[FabricsConnection]:
    """Return what is connected at each boot. BadInput: the record is damaged."""
    path = paths.connections_file()
    return read_model(path, FabricsConnections).connections if path.exists() else []


def secrets() -> dict[str, str]:
    """Return the secrets by the NQN of the subsystem; root alone can read them. BadInput: the record is damaged."""
    path = paths.connection_secrets_file()
    return read_model(path, FabricsSecrets).secrets if path.exists() else {}


def save(wanted: list[FabricsConnection], known: dict[str, str]) -> None:
    """Record the connections, with the secrets of those. Failed: a power cut could lose them.

    A connection never stands there without its secret: that comes first, and goes last.
    """
    kept = {connection.nqn: known[connection.nqn] for connection in wanted if connection.authenticated}
    try:
        if kept:
            write_model(paths.connection_secrets_file(), FabricsSecrets(secrets=kept), 0o600)
        if wanted:
            write_model(paths.connections_file(), FabricsConnections(connections=wanted))
        else:
            paths.connections_file().unlink(missing_ok=True)
        if not kept:
            paths.connection_secrets_file().unlink(missing_ok=True)
        if paths.connections_file().parent.is_dir():
            sync(paths.connections_file().parent)
    except OSError as error:
        raise Failed(f"the connections cannot be recorded: {error.filename}: {error.strerror}") from error
