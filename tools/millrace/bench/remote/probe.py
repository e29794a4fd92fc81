# SPDX-License-Identifier: Apache-2.0
"""Whether the fio of a client and the fio of this server speak the same language, which changes between versions."""

from contextlib import suppress
from tempfile import TemporaryDirectory

from millrace import command
from millrace.bench import fio_output
from millrace.bench.remote.connection import Connection, Unreachable
from millrace.errors import Failed

NOTHING = "[nothing]\nioengine=null\nrw=read\nbs=4k\nsize=4k\n"
SECONDS = 120.0


def speaks(connection: Connection) -> None:
    """Have the client do nothing, once; Unreachable where that does not work."""
    connection.ask("serve", SECONDS)
    try:
        connection.wait_fio()
        with TemporaryDirectory(prefix="millrace-bench-") as directory:
            job = f"{directory}/nothing.fio"
            with open(job, "w") as out:
                out.write(NOTHING)
            argv = ["fio", "--output-format=json+", connection.fio, job]
            said = command.attempt(argv, timeout=SECONDS)
        fio_output.final(said.out, said.status, said.err)
    except Failed as error:
        ours = command.attempt(["fio", "--version"]).out.strip()
        raise Unreachable(
            f"{connection.facts.fio} of client {connection.name} does not work with {ours} of this server ({error}): "
            "install that version there, or measure by hand (`millrace client bench`)"
        ) from error
    finally:
        with suppress(Failed):
            connection.ask("release", SECONDS)
