# SPDX-License-Identifier: Apache-2.0
"""Minutes of steady work on a server of files, with their values."""

from datetime import timedelta

from millrace.observe.history import sampler
from millrace.system.run import Runner, quickly
from tests.fakes.files.box import NOW, Box

START = int(NOW.timestamp())


def worked(box: Box, minutes: int, first: int = 1, run: Runner = quickly, before: int = 0) -> None:
    """Keep values of so many minutes, beginning with the `first` after noon; counters grow by a second's work each.

    `before` is so many minutes earlier by the clock.
    """
    for minute in range(first, first + minutes):
        box.count(minute)
        now = NOW + timedelta(minutes=minute - before)
        assert sampler.sample(run, now, uptime=minute * 60.0 + 1)
