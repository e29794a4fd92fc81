# SPDX-License-Identifier: Apache-2.0
"""From a request to a run that can start: goals, knobs, the steps of the ladder that measure them, and how long."""

import re
from dataclasses import dataclass, field

from millrace.measure.bench.plan import clients
from millrace.measure.bench.plan import site as sites
from millrace.measure.bench.plan.estimate import SPEED, amount, estimate, seconds_of
from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.plan.sizes import Sizes, sizes
from millrace.measure.bench.plan.steps import RungStep, layouts
from millrace.measure.bench.plan.workloads import WORKS, Work
from millrace.measure.bench.result.choices import BenchLayer
from millrace.measure.bench.result.model import RunRequest
from millrace.measure.tuner.knobs.checks import CheckSetting, check_settings
from millrace.measure.tuner.knobs.entry import Load
from millrace.measure.tuner.knobs.surface import KnobSurface, surface
from millrace.measure.tuner.model import Goal, TunerKnob
from millrace.measure.tuner.run.outputs import TunerEstimate, TunerRequest
from millrace.measure.tuner.search import budget as budgets
from millrace.measure.tuner.search.goals import GOALS, REBUILD, Kind, of_profile, parse
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Runner
from millrace.tune import settings as tuning

SECONDS = 5.0
"""Length of one measurement. What a setting does shows in seconds; more readings are worth more than longer ones."""
AROUND = 2.0
"""Seconds of a reading besides its measurements: settings are set, and the server is looked at."""
LINK = 5.0
"""Seconds of a reading in which a port with other queues or rings negotiates its link and has its address again."""
SMBD = 3.0
"""Seconds of a reading until a separate smbd with its settings serves a mount."""
DEFAULT = "mixed"
LONGEST = 24 * 3600
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class PreparedSearch:
    """Everything that is decided before the first setting is changed.

    `steps` measure the goals of the ladder, one for each; `checks` are what the goal `rebuild` is measured by.
    """

    request: TunerRequest
    site: Site
    surface: KnobSurface
    knobs: list[TunerKnob]
    goals: list[Goal]
    sizes: Sizes
    steps: list[RungStep]
    checks: list[CheckSetting] = field(default_factory=list)

    @property
    def bench(self) -> RunRequest:
        """The request of a benchmark that this is for what may prevent one."""
        return RunRequest(clients=self.request.clients, degraded=True, with_clients=True)

    @property
    def measured(self) -> list[Goal]:
        """The goals of the ladder, in the order of `steps`."""
        return [one for one in self.goals if one.name != REBUILD]

    @property
    def each(self) -> float:
        """Seconds that one reading takes."""
        mounted = SMBD if any(_over_smb(one) for one in self.steps) else 0
        linked = LINK if any(one.cost == "link" for one in self.knobs) else 0
        return AROUND + mounted + linked + sum(seconds_of(one, self.sizes) for one in self.steps)

    @property
    def space(self) -> int:
        """Bytes in the pool at most."""
        return estimate(self.bench, self.steps, self.sizes).space

    @property
    def layout(self) -> float:
        """Seconds before the first reading, in which files are written."""
        sets = {one.work.layout: amount(one, self.sizes) for one in self.steps}
        return sum(sets.values()) / SPEED[BenchLayer.L1]

    @property
    def estimate(self) -> TunerEstimate:
        """What it would try and how long; without obstacles."""
        fewest = budgets.fewest(self.knobs)
        return TunerEstimate(
            goals=self.goals,
            knobs=self.knobs,
            left_out=self.surface.left_out,
            each=self.each,
            fewest=fewest,
            layout=self.layout,
            least=fewest * self.each + self.layout,
            budget=self.request.budget,
            space=self.space,
        )

    def check_budget(self) -> None:
        """Check that the budget is enough for one screen. BadInput: it is not."""
        budgets.check(self.knobs, self.request.budget, self.each, self.layout)


def seconds(text: str) -> float:
    """Return a budget such as `60m`, `2h` or `900s` in seconds. BadInput: it is none, or above 24 hours."""
    found = re.fullmatch(r"([0-9]{1,6})([smh])", text)
    length = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < length <= LONGEST:
        raise BadInput("--budget is a time such as 60m or 2h, at most 24h")
    return float(length)


def prepare(request: TunerRequest, run: Runner) -> PreparedSearch:
    """Decide everything about a run on this server.

    BadInput: an unknown goal, profile, knob or client. Refused: there is no pool, or no settings that may be tried.
    """
    goals = goals_of(request)
    site = sites.site(clients=clients.chosen(request.clients))
    kinds = [GOALS[goal.name] for goal in goals]
    steps = [_step(kind, kind.work, site) for kind in kinds if kind.work is not None]
    rebuild = len(steps) < len(goals)
    checks = check_settings(site.pool) if rebuild else []
    if rebuild and not checks:
        raise Refused("the goal rebuild is measured on arrays with redundancy, and this pool has none: leave it out")
    load = Load(smb=any(_over_smb(step) for step in steps), clients=bool(site.clients), rebuild=rebuild)
    here = surface(tuning.current(site.pool, run).settings, site.pool, run, load)
    bench = RunRequest(seconds=SECONDS, repeats=1)
    measure = sizes(bench, site.free, site.memory, site.cores, layouts(steps))
    return PreparedSearch(request, site, here, _chosen(here, request.knobs), goals, measure, steps, checks)


def goals_of(request: TunerRequest) -> list[Goal]:
    """Return the goals of a request. BadInput: unknown ones, or goals and a profile."""
    if request.goals is not None and request.profile is not None:
        raise BadInput("--goal and --profile cannot be combined")
    return parse(request.goals) if request.goals is not None else of_profile(request.profile or DEFAULT)


def _chosen(here: KnobSurface, names: list[str]) -> list[TunerKnob]:
    known = {one.name: one for one in here.knobs}
    without = {one.name: one.reason for one in here.left_out}
    for name in names:
        if name in without:
            raise BadInput(f"{name} is not tried: {without[name]}")
        if name not in known:
            raise BadInput(f"there is no setting {name!r} to try; there are {', '.join(known)}")
    return [one for name, one in known.items() if not names or name in names]


def _step(kind: Kind, name: str, site: Site) -> RungStep:
    work = _work(name)
    if kind.place == "local":
        return RungStep(BenchLayer.L1, "xfs", work)
    if kind.place == "smb":
        if site.clients:
            raise Refused(f"{kind.name} is measured on this server: leave out --client, or choose a goal over NFS")
        return RungStep(BenchLayer.L2, "smb", work)
    if site.clients:
        return RungStep(BenchLayer.L3, "nfs-tcp", work, copies=len(site.clients))
    return RungStep(BenchLayer.L2, "nfs-tcp", work)


def _over_smb(step: RungStep) -> bool:
    return step.target == "smb"


def _work(name: str) -> Work:
    return next(one for one in WORKS if one.name == name)
