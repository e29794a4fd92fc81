# SPDX-License-Identifier: Apache-2.0
"""Documents of a pool and of its server, each with something in each of its fields; `record` writes them."""

from pydantic import BaseModel

from millrace import __version__
from millrace.plan.settings import SettingsFile
from millrace.plan.settings_changes import changes
from millrace.serve.config.reset_journal import Reset
from millrace.storage.assemble.in_sync import InSync, InSyncArray
from millrace.storage.assemble.readd import Return, Returns
from millrace.storage.assemble.separate_lives import LeftMember
from millrace.storage.assemble.unclean import Suspects, Unclean, UncleanStarts
from millrace.storage.record.apart_record import Apart, ApartMembers, Undecided
from millrace.storage.record.destruction import Destruction, LeftDrive
from millrace.storage.record.drive_change import DriveChange
from millrace.storage.record.model import Approval, ArrayRecord, Pool, StepRecord
from millrace.storage.record.removal_record import Removal, Removals
from millrace.storage.record.scrub_record import (
    FilesystemScrub,
    MismatchRange,
    Repair,
    Repaired,
    RetiredRows,
    Round,
    ScrubRecord,
    ScrubStop,
    UnderWay,
)
from millrace.storage.rescue.rescue_model import DryRunResult, NewLog, Rescue
from millrace.storage.rescue.step_names import STEPS
from millrace.storage.trim.trim_record import Trimmed, TrimRecord, TrimRound, TrimStop
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.tune.rebuild_speed import PriorityDocument
from tests.fakes.files.box import POLICY, Box

AT, LATER = "2026-11-20T12:00:00+00:00", "2026-11-20T13:00:00+00:00"


def of_box(box: Box, pool: Pool) -> dict[str, BaseModel]:
    from millrace.tune import settings

    box.scrub()
    scrub = read_model(paths.scrub_file(), ScrubRecord)
    under_way = UnderWay(started=AT, sector=8, sectors=80, seconds=1.5, mismatches=0, least="1000", most="200000")
    place = [MismatchRange(begin=8, end=16, sectors=8)]
    repair = Repair(asked=AT, ranges=place, least="1000", most="200000")
    repaired = Repaired(ended=LATER, rewritten=8, left=0)
    first: dict[str, object] = {
        "under_way": under_way.model_copy(update={"ranges": place}),
        "repair": repair,
        "repaired": repaired,
    }
    first["retired"] = [RetiredRows(begin=16, end=24)]
    arrays = [scrub.arrays[0].model_copy(update=first), *scrub.arrays[1:]]
    sound = FilesystemScrub(started=AT, ended=LATER, seconds=3600, problem=None)
    stopped = ScrubStop(at=LATER, by="window", reason="the window of the policy ended")
    more = {"arrays": arrays, "filesystem": sound, "round": Round(started=AT, by="policy"), "stopped": stopped}
    before = settings.in_force(pool)
    paths.policy_file().write_text(POLICY + "[nfsd]\nmax_block_size = 524288\n")
    now = settings.current(pool).settings
    box.replace("data", 3, 12)
    change = box.change(3, 12).change
    return {
        "scrub.json": scrub.model_copy(update=more),
        "settings.json": SettingsFile(release=__version__, at=AT, settings=now, changes=changes(before, now, AT)),
        "drive-change.json": DriveChange.model_validate(change.model_dump()),
    }


def _in_sync(one: ArrayRecord) -> InSyncArray:
    left = LeftMember(member=one.members[-1], events=17, beside=[0])
    return InSyncArray(uuid=one.uuid, members=one.members, left=[left])


def of_pool(pool: Pool) -> dict[str, BaseModel]:
    data, log = pool.arrays[0], pool.arrays[-1]
    steps = [StepRecord(name=name, state="done" if number < 3 else "pending") for number, name in enumerate(STEPS)]
    judgement = DryRunResult(
        files=10, directories=2, size=4096, unreadable=1, complete=True, problem_count=1, problems=["a line"], note="x"
    )
    return {
        "in-sync.json": InSync(arrays=[_in_sync(record) for record in pool.arrays]),
        "apart.json": ApartMembers(
            members=[Apart(array="log", serial="OLD2", partuuid="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a12", written=AT)],
            undecided=[Undecided(array="log", why="it ran twice. Choose one")],
        ),
        "removed.json": Removals(removals=[Removal(serial="OLD1", at=AT)]),
        "reset.json": Reset(what="keep", by="admin", at=AT, pool="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11"),
        "returns.json": Returns(
            returns=[Return(serial=data.members[0].serial, array="data", at=AT, outcome="re-added")]
        ),
        "unclean.json": UncleanStarts(
            starts=[Unclean(array="data", level="raid6", last_write=AT, started=LATER, missing=["OLD1"])],
            suspects=Suspects(count=3, listed=2, complete=False),
        ),
        "rescue.json": Rescue(
            id="1",
            by="admin",
            at=AT,
            lost=log.uuid,
            lost_drives=[member.serial for member in log.members],
            steps=steps,
            results={"stop": "stopped"},
            image="/var/lib/millrace/rescue-20261120T120000Z.metadump",
            judgement=judgement,
            new=NewLog(drives=pool.drives[:1], array=log, steps=steps[:1]),
            orphans=1,
            ended=LATER,
        ),
        "trim.json": TrimRecord(
            uuid=pool.filesystem_uuid,
            round=TrimRound(started=AT, by="policy", size=80, offset=8, slice=4, bytes=2, seconds=1.5, longest=0.5),
            stopped=TrimStop(at=LATER, by="window", reason="the window of the policy ended"),
            last=Trimmed(started=AT, ended=LATER, bytes=80, seconds=3.5, longest=0.5),
        ),
        "approval.json": Approval(sha256=pool.plan_sha256, by="admin", at=AT),
        "priority.json": PriorityDocument(priority="rebuild"),
        "pool-destruction.json": Destruction(
            pool=pool,
            drives=pool.drives,
            whole=data.members[:1],
            by="admin",
            at=AT,
            ends=True,
            shares=["data"],
            steps=[
                StepRecord(name="stop", state="done"),
                *(StepRecord(name=f"wipe {drive.serial}", state="done") for drive in pool.drives),
                StepRecord(name="records", state="pending"),
            ],
            left=[LeftDrive(serial="OLD1", bay="4", missing=True, why="is not in this server")],
            ended=LATER,
            error="a line",
        ),
    }
