# SPDX-License-Identifier: Apache-2.0
"""Write what the verbs print on servers in every state; `tools/host/enter types` runs this.

The pages are tested with these files, so that they are tested with what the command line really prints.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from click.testing import CliRunner

from host.layout import REPO
from millrace.cli.program import millrace
from millrace.inventory.drive_tests import DriveTest, DriveTests
from millrace.inventory.model import Inventory
from millrace.lifecycle.adopt import adopt_paths
from millrace.lifecycle.adopt.model import FoundArray, KeptPort, KeptState, SearchResult
from millrace.lifecycle.keep.model import KeptElsewhere, Trusted
from millrace.storage.provision.provision_job import ProvisionProgress
from millrace.storage.record.model import Approval, Pool, Transaction
from millrace.storage.record.test_order import DriveTestOrder, DriveTestProgress, DriveTestsProgress, DriveTestTarget
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.jobs import job_paths
from tests.fakes.files.box import DATA, EMPTY, FAR_PORTS, NOW, Box, Shape, serial
from tests.fakes.files.running import server
from tests.fakes.samples import found_pool
from tests.unit.observe.history.minutes import worked
from tests.unit.observe.live.clock import watched
from tests.unit.plugin import inputs, network, rescue, tuning, volumes, week

FILES = REPO / "cockpit-plugin" / "test" / "golden"
# Each server is asked all of these; a verb that refuses there has no file.
VERBS = (
    "config history", "config show", "drive list", "drive progress", "group list", "health", "job list", "plan",
    "pool found", "pool scrub status", "pool show", "session list", "share list", "share networks list", "status",
    "topology", "user list",
)  # fmt: skip
PROTOCOLS = ("nfs-tcp", "nfs-tcp-trunked", "nfs-rdma", "smb-multichannel")


def documents() -> dict[str, str]:
    """The text of every file by its path below `FILES`."""
    texts = {"inputs/rules.json": inputs.table()}
    for appliance in (week, rescue, volumes, tuning, network):
        texts |= appliance.documents()
    for name, shape, user, prepare in SERVERS:
        temporary = tempfile.TemporaryDirectory(prefix="millrace-golden-")
        with temporary as directory, server(Path(directory), shape, user) as box:
            prepare(box)
            for path, text in (*_printed(box), *(_once(box) if name == "1u12-provisioned" else ())):
                texts[f"{name}/{path}"] = text.replace(directory, "")
    # of every server, as far as the pages go
    texts["appliance/history.json"] = texts.pop("1u12-provisioned/history.json")
    return texts


def _once(box: Box) -> Iterator[tuple[str, str]]:
    """What is asked of one server only."""
    worked(box, 60, before=60)
    yield from _asked("history.json", "history", "--since", "1h", "--json")
    for gpu in ("nvidia", "amd"):
        words = ("--gpu", gpu, "--protocol", "nfs-rdma", "--share", "models", "--json")
        yield from _asked(f"client-recipe-gpu-{gpu}.json", "client", "recipe", *words)


def _printed(box: Box) -> Iterator[tuple[str, str]]:
    for verb in VERBS:
        yield from _asked(f"{verb.replace(' ', '-')}.json", *verb.split(), "--json")
    yield from _asked("plan-explain-layout.json", "plan", "--explain", "layout", "--json")
    for protocol in PROTOCOLS:
        words = ("--workload", "training", "--protocol", protocol, "--share", "models", "--json")
        yield from _asked(f"client-recipe-{protocol}.json", "client", "recipe", *words)
    yield "inventory.json", paths.inventory_file().read_text()
    yield from _alerts()
    yield "watch.jsonl", "".join(line.model_dump_json() + "\n" for line in watched(box, 3))
    if paths.transaction_file().exists():
        yield "approve.jsonl", _approved()


def _alerts() -> Iterator[tuple[str, str]]:
    """What is listed where no route is: what the last check of health found."""
    [(_, text)] = _asked("health.json", "health", "--json")
    paths.health_file().parent.mkdir(parents=True, exist_ok=True)
    paths.health_file().write_text(text)
    yield from _asked("alert-list.json", "alert", "list", "--json")


def _asked(path: str, *words: str) -> Iterator[tuple[str, str]]:
    """What a verb prints; a refused plan is a document too, other refusals are sentences on standard error."""
    result = CliRunner().invoke(millrace, list(words), standalone_mode=False)
    if result.stdout.startswith("{"):
        yield path, result.stdout


def _approved() -> str:
    """The lines of an approval that is followed to its end."""
    made = read_model(paths.transaction_file(), Transaction)
    digest = made.plan.digest()
    names = [step.name for step in made.steps]
    lines: list[Approval | ProvisionProgress | Pool] = [Approval(sha256=digest, by="admin", at=NOW.isoformat())]
    lines += [ProvisionProgress(done=done, total=len(names), step=name) for done, name in enumerate(names)]
    pool = Pool(
        plan_sha256=digest,
        created=NOW.isoformat(),
        drives=made.drives,
        arrays=made.arrays,
        filesystem=made.plan.filesystem,
        filesystem_uuid=made.filesystem_uuid,
    )
    return "".join(line.model_dump_json() + "\n" for line in [*lines, pool])


def _blank(box: Box) -> None:
    box.look()


def _found(box: Box) -> None:
    """A new boot drive before the drives of a pool, one of which is missing."""
    box.look()
    kept = KeptState(
        generation=42,
        written="2026-11-20T03:00:00+00:00",
        host="filer",
        release="0.1.0",
        sealed=True,
        shares=["models", "results"],
        users=["anna", "ben"],
        ports=[
            KeptPort(name="enp1s0", mac="52:54:00:00:00:01", addresses=["10.0.0.5/24"], here="enp1s0", by="mac"),
            KeptPort(name="enp2s0", mac="52:54:00:00:00:02", addresses=["10.0.1.5/24"], here="enp9s0", by="name"),
            KeptPort(name="enp3s0", mac="52:54:00:00:00:03", addresses=["10.0.2.5/24"], here=None, by=None),
        ],
        domain="corp.example",
        problems=["etc/krb5.keytab: Input/output error"],
        damaged=["000043.tar.gz: it is torn or damaged"],
        trusted=[
            Trusted(kind="password", details=["encrypted, or not readable"]),
            Trusted(kind="ssh", details=[]),
            Trusted(kind="updates", details=["https://updates.example/millrace"]),
        ],
    )
    serials = [f"MRD{number:011}" for number in range(1, 11)]
    arrays = [
        FoundArray(
            uuid="11111111:22222222:33333333:44444444",
            name="data",
            level="raid6",
            slots=10,
            serials=serials[:9],
            away=serials[9:],
        ),
        FoundArray(uuid="11111111:22222222:33333333:55555555", name="log", level="raid1", slots=2, serials=serials[:2]),
    ]
    pool = found_pool("b7e23ec2-9a1f-4b6e-9f0e-6b9c3f4d2a11", arrays, missing=1, kept=kept)
    write_model(adopt_paths.found_file(), SearchResult(pool=pool))


def _testing(box: Box) -> None:
    """Drives are tested before a pool is made of them: one passed, two failed or were cancelled, two are under way."""
    box.look()
    test = {"id": "1", "wwid": "", "scope": "full", "boot": "", "began": "2026-11-20T06:00:00+00:00", "bay": None}
    ended = {**test, "ended": "2026-11-20T11:30:00+00:00", "hottest_celsius": 58}
    slow = {"write_bytes_per_second": 2_900_000_000, "remarks": ["one request took 1.4 s"], "blank": True}
    wrong = "the drive returns at byte 1048576 what was written at byte 3840755294208"
    outcomes = [
        {**test, "state": "running"},
        {**test, "state": "running"},
        {**ended, "state": "passed", **slow},
        {**ended, "state": "failed", "reason": wrong},
        {**ended, "state": "cancelled", "reason": "an administrator ended it", "scope": "quick", "blank": True},
        {**ended, "state": "cancelled", "reason": "an administrator ended it"},
    ]
    inventory = read_model(paths.inventory_file(), Inventory)
    wwids = {drive.serial: drive.wwid for drive in inventory.drives}
    serials = [serial(number) for number in range(len(outcomes))]
    tests = [
        DriveTest.model_validate({**outcome, "serial": of, "wwid": wwids[of]})
        for of, outcome in zip(serials, outcomes, strict=True)
    ]
    write_model(paths.drive_tests_file(), DriveTests(tests=tests))
    size = 3 * DATA
    now = DriveTestProgress(
        serial=serials[0],
        what="reading back",
        done=size // 2,
        total=size,
        bytes_per_second=1_200_000_000,
        seconds_left=9600,
    )
    write_model(job_paths.drive_test_progress_file(), DriveTestsProgress(drives=[now]))
    targets = [
        DriveTestTarget(serial=target_serial, wwid=wwids[target_serial], attached="7") for target_serial in serials[:2]
    ]
    write_model(job_paths.drive_test_order_file(), DriveTestOrder(id="1", quick=False, drives=targets))


def _building(box: Box) -> None:
    box.begin(done=7)
    box.look()


def _closed(box: Box) -> None:
    """The first day: a pool, and nobody confirmed client networks."""
    paths.policy_file().unlink()
    box.provision()
    box.look()


def _provisioned(box: Box) -> None:
    box.provision()
    box.shares()
    box.look()


def _home(box: Box) -> None:
    """The pool comes back after another server adopted it."""
    _provisioned(box)
    kept = KeptElsewhere(
        pool=read_model(paths.pool_file(), Pool).filesystem_uuid,
        generation=57,
        written="2026-11-20T09:00:00+00:00",
        host="filer",
        release="0.1.0",
        shares=["models", "results"],
        users=["anna", "carl"],
        trusted=[Trusted(kind="journal", details=["https://logs.example.com"])],
    )
    write_model(paths.kept_elsewhere_file(), kept)
    box.look()


def _degraded(box: Box) -> None:
    _provisioned(box)
    box.scrub()
    box.look()
    box.pull("data", 3)


def _rebuilding(box: Box) -> None:
    _provisioned(box)
    box.replace("data", 3, 12)


def _replacing(box: Box) -> None:
    _rebuilding(box)
    box.change(3, 12)


# Name, what it has, the number of the user who asks, what happened to it.
SERVERS: tuple[tuple[str, Shape, int, Callable[[Box], None]], ...] = (
    ("empty", EMPTY, 0, _blank),
    ("1u12-blank", Shape(), 0, _blank),
    ("1u12-found", Shape(), 0, _found),
    ("1u12-testing", Shape(), 0, _testing),
    ("1u12-building", Shape(), 0, _building),
    ("1u12-closed", Shape(), 0, _closed),
    ("1u12-provisioned", Shape(), 0, _provisioned),
    ("1u12-home", Shape(), 0, _home),
    ("1u12-degraded", Shape(), 0, _degraded),
    ("1u12-rebuilding", Shape(), 0, _rebuilding),
    ("1u12-replacing", Shape(), 0, _replacing),
    # asked by a user who is no administrator
    ("1u12-user", Shape(), 1001, _provisioned),
    # two legs, and both ports at the other processor than half of the drives
    ("2u24-far-ports", FAR_PORTS, 0, _provisioned),
)


def main() -> None:
    """Write the files, and remove those that are no more."""
    made = documents()
    for path, text in made.items():
        (FILES / path).parent.mkdir(parents=True, exist_ok=True)
        (FILES / path).write_text(text)
    for path in kept():
        if str(path.relative_to(FILES)) not in made:
            path.unlink()


def kept() -> list[Path]:
    """The files of servers in the tree; what is beside their directories is not of this program."""
    return [path for path in FILES.glob("*/*") if path.is_file()]


if __name__ == "__main__":
    main()
