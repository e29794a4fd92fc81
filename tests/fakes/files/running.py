# SPDX-License-Identifier: Apache-2.0
"""The program on a server made of files, instead of on this machine."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch
from uuid import UUID

from millrace.observe.health.host import Probes
from millrace.system.web_probe import WebReply
from tests.fakes.files import tools
from tests.fakes.files.box import FULL, NOW, Box, Shape
from tests.fakes.tools import started_by

# in seconds: nine days
UPTIME = 777_600.0


class Clock(datetime):
    """Noon of a day: it does not go on."""

    @classmethod
    def now(cls, tz: object = None) -> "Clock":
        return cls.fromtimestamp(NOW.timestamp(), UTC)


@contextmanager
def server(root: Path, shape: Shape = FULL, user: int = 0) -> Iterator[Box]:
    """A server below `root` on the 20th of November 2026 at noon, asked by the user with this number."""
    space = os.statvfs_result((4096, 4096, 15_000_000_000, 13_380_000_000, 13_380_000_000, 0, 0, 0, 0, 255))
    numbers = iter(range(1, 10_000))
    with ExitStack() as stack:
        for target, value in (
            ("millrace.system.paths.ROOT", root),
            ("os.geteuid", lambda: user),
            ("os.statvfs", lambda path: space),
            ("os.fsync", lambda descriptor: None),
            ("os.path.ismount", lambda path: True),
            (
                "millrace.observe.health.host.PROBES",
                Probes(lambda address: None, lambda address: None, lambda address: WebReply(None)),
            ),
            ("millrace.storage.drive.facts.datetime", Clock),
            ("millrace.storage.drive.smart.datetime", Clock),
            ("millrace.storage.scrub.scrub_watch.datetime", Clock),
            ("millrace.observe.health.checks.keep.datetime", Clock),
            ("millrace.observe.health.checks.scrub.datetime", Clock),
            ("millrace.system.ages.datetime", Clock),
            ("millrace.observe.health.collect.datetime", Clock),
            ("millrace.observe.health.current.datetime", Clock),
            ("millrace.serve.config.store.datetime", Clock),
            ("millrace.tune.settings.datetime", Clock),
            ("millrace.system.run.subprocess", started_by(tools.Tools(user))),
            ("uuid.uuid4", lambda: UUID(int=next(numbers) << 64 | 4 << 76 | 1 << 63)),
            ("millrace.observe.health.status.time", SimpleNamespace(monotonic=lambda: UPTIME)),
            ("millrace.observe.history.query.datetime", Clock),
            ("socket.gethostname", lambda: "millrace"),
        ):
            stack.enter_context(patch(target, value))
        yield Box(root, shape)
