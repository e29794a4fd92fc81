# SPDX-License-Identifier: Apache-2.0
"""What `millrace tuner` prints on a server with bad settings: before, within and after a run, applied and reverted.

Measurements are a function of what is set, with 1 % of noise; the time is that of a clock of its own.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.run.guard import GuardVerdict
from millrace.measure.tuner.model import Figures, Goal
from millrace.measure.tuner.run import guard, order, session
from millrace.measure.tuner.run import plan as planning
from millrace.measure.tuner.run.outputs import TunerRequest
from millrace.measure.tuner.run.tuner_job import ORDER, TunerOrder
from millrace.measure.tuner.search.goals import parse
from millrace.plan.defaults import SmbdSettings
from millrace.plan.policy.model import MdPolicy, NfsdPolicy, Policy
from millrace.system import paths
from tests.fakes.files.box import NOW
from tests.fakes.tools import stand_in
from tests.unit.measure.bench.sites import site
from tests.unit.measure.tuner.machines import TunedServer
from tests.unit.plugin.week import DIRECTORY, said

RUN = "20261120-120000"
SLOW = Policy(nfsd=NfsdPolicy(threads=16, threads_min=1), md=MdPolicy(stripe_cache_size=1024, group_thread_cnt=4))
GOALS = "seq-read=3,fsync=1"
# of two short jobs, with the change of settings
READING_SECONDS = 24.0
# after the screen: effects are known
WATCHED = 20


class Bad(TunedServer):
    """The server, its clock, and what prevents a run."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        super().__init__(root, patch, SLOW)
        self.now = NOW.timestamp()
        self.verdict = GuardVerdict()
        self.documents: dict[str, str] = {}
        self._readings = 0
        self._random = Random(7)
        here = self.basis.server
        self.site: Site = site(pool=self.pool, cores=here.cores, memory=here.memory, protocols=["nfs-tcp", "smb"])
        patch.setattr(planning.sites, "site", lambda clients: self.site)
        patch.setattr(guard.guard, "check", lambda *_, **__: self.verdict)
        patch.setattr("millrace.measure.bench.run.monitor.RunWatch.complaint", lambda _: None)
        patch.setattr(session, "time", SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now))
        patch.setattr(session, "_now", NOW.isoformat)
        patch.setattr(session, "__version__", "0.1.0")
        patch.setattr(session.ladder, "opened", self._opened)
        patch.setattr(order.store, "new_id", lambda: RUN)

    def run_all(self) -> None:
        """A whole run; what the verbs print in its middle is kept."""
        asked = TunerRequest(goals=GOALS)
        placed = TunerOrder(run=RUN, by="admin", request=asked)
        session.TunerSession(placed, planning.prepare(asked, self), self, Event()).run_all()

    @contextmanager
    def _opened(self, *_: Any) -> Iterator[Any]:
        yield SimpleNamespace(figures=self._figures, remote=False)

    def _figures(self, begins: Callable[[Goal], None], _smbd: SmbdSettings) -> Figures:
        self._readings += 1
        self.now += READING_SECONDS
        begins(parse(GOALS)[1])
        if self._readings == WATCHED:
            self.unit_runs(True)
            self.documents = {f"tuner-{verb}.running.json": said("tuner", verb) for verb in ("status", "list", "show")}
            self.documents["tuner-estimate.running.json"] = said("tuner", "estimate", f"--goal={GOALS}")
            self.unit_runs(False)
        values = self.values()
        threads = min(int(values["threads"].split()[1]), 32)
        stripes = min(int(values["stripes"]), 4096)
        figures = {"seq-read": 1.5e10 + 1e8 * threads + 5e5 * stripes, "fsync": 1800.0 + 10 * threads}
        return {name: value * self._random.gauss(1, 0.01) for name, value in figures.items()}


def documents() -> dict[str, str]:
    """The text of every document by its path below the golden files."""
    with tempfile.TemporaryDirectory(prefix="millrace-tuning-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "ROOT", Path(directory))
        patch.setenv("SUDO_USER", "admin")
        patch.setattr("os.geteuid", lambda: 0)
        patch.setattr("os.fsync", lambda *arguments: None)
        patch.setattr("socket.gethostname", lambda: "millrace")
        patch.setattr("platform.release", lambda: "7.2.0")
        bad = Bad(Path(directory), patch)
        stand_in(patch, bad)
        return {f"{DIRECTORY}/{name}": text.replace(directory, "") for name, text in _printed(bad)}


def _printed(bad: Bad) -> Iterator[tuple[str, str]]:
    yield "tuner-status.none.json", said("tuner", "status")
    yield "tuner-list.empty.json", said("tuner", "list")
    yield "tuner-estimate.json", said("tuner", "estimate", "--profile=training")
    bad.verdict = GuardVerdict(labels=["degraded", "with-clients"])
    yield "tuner-estimate.obstacle.json", said("tuner", "estimate", "--profile=training", "--budget=5m")
    bad.verdict = GuardVerdict()
    yield "tuner-start.json", said("tuner", "start", f"--goal={GOALS}")
    ORDER.remove()
    bad.run_all()
    yield from bad.documents.items()
    yield "tuner-status.json", said("tuner", "status")
    yield "tuner-show.json", said("tuner", "show")
    yield "tuner-apply.json", said("tuner", "apply", RUN)
    yield "tuner-status.applied.json", said("tuner", "status")
    yield "tuner-list.json", said("tuner", "list")
    yield "tuner-revert.json", said("tuner", "revert")
