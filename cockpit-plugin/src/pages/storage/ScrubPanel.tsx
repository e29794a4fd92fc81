// SPDX-License-Identifier: Apache-2.0
/** The checks of the arrays and of the file system: when, what they found and how long ago, started and stopped by hand. */
import { useState } from "react";
import type { JSX } from "react";
import { Radio } from "@patternfly/react-core/dist/esm/components/Radio/index.js";
import type { CheckPace, FilesystemScrub, Scrubbed, ScrubOfArray, ScrubStatus } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { DataTable } from "../../components/DataTable";
import { HealthLabel } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { ProgressEta } from "../../components/ProgressEta";
import { ErrorAlert, Loaded } from "../../components/States";
import { age, bytes, moment, percent, rate, UNKNOWN } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { jobTitle, useJob, whileJob } from "../../lib/jobs";
import { RetireDialog } from "./RetireDialog";

/** Seconds: a check takes hours. */
const EVERY_OF_JOB = 5;
/** Seconds: files in doubt are searched for after it. */
const EVERY = 30;
const KIB = 1024;
const LOG = "log";

export function ScrubPanel(): JSX.Element {
    const job = useJob("scrub");
    const found = useVerb("pool scrub status", [], { every: EVERY, ...whileJob(job, EVERY_OF_JOB) });
    const look = () => { job.look(); found.reload(); };
    const start = useChange("pool scrub start");
    const stop = useChange("pool scrub stop");
    const [repairs, setRepairs] = useState<ScrubOfArray | null>(null);
    const [retires, setRetires] = useState(false);
    const busy = start.busy || stop.busy;
    const runs = found.data !== undefined && found.data.round !== null && found.data.stopped === null;
    const button = runs
        ? <AdminButton least="operator" variant="secondary" isLoading={busy} isDisabled={busy} onClick={() => { void stop.go().then(look); }}>{_("Stop check")}</AdminButton>
        : (
            <AdminButton least="operator" variant="secondary" isLoading={busy} isDisabled={busy || found.data === undefined} onClick={() => { void start.go().then(look); }}>
                {found.data?.round ? _("Continue check") : _("Check now")}
            </AdminButton>
        );
    return (
        <Panel title={_("Checks")} wide testId="scrub" actions={button}>
            <ErrorAlert error={start.error ?? stop.error} />
            <Loaded of={found} what={_("Loading checks")}>{(status) => <Shown status={status} onRepair={setRepairs} onRetire={() => setRetires(true)} />}</Loaded>
            {repairs !== null && <RepairDialog of={repairs} onClose={() => { setRepairs(null); void found.reload(); }} />}
            {retires && <RetireDialog onClose={() => { setRetires(false); void found.reload(); }} />}
        </Panel>
    );
}

function Shown({ status, onRepair, onRetire }: {
    status: ScrubStatus; onRepair: (one: ScrubOfArray) => void; onRetire: () => void;
}): JSX.Element {
    const { arrays, filesystem, round, stopped } = status;
    return (
        <div className="mr-stack">
            <dl className="mr-definitions">
                <dt>{_("Window")}</dt>
                <dd>{status.every === "never" ? _("none: checks are started by hand") : format(_("$0, $1"), every(status.every), status.window)}</dd>
                <dt>{_("Next check")}</dt><dd>{status.next === null ? UNKNOWN : moment(status.next)}</dd>
                <dt>{_("Rate")}</dt><dd>{pace(status.pace)}</dd>
            </dl>
            {status.problem !== null && <p data-testid="scrub-period"><HealthLabel level="WARN">{status.problem}</HealthLabel></p>}
            {stopped !== null && (
                <p>{format(round === null ? _("Ended early $0: $1") : _("Stopped $0: $1"), moment(stopped.at), stopped.reason)}</p>
            )}
            <DataTable label={_("Last checks")} rows={[...arrays, filesystem]} rowKey={(one) => (isArray(one) ? one.kept.uuid : "filesystem")} columns={[
                { title: _("Checked"), cell: (one) => (isArray(one) ? format(_("Array $0"), one.kept.array) : _("File system (metadata)")), heads: true },
                { title: _("Last check"), cell: (one) => ended(last(one), moment) },
                { title: _("Age"), cell: (one) => ended(last(one), age) },
                { title: _("Result"), cell: (one) => (isArray(one) ? ofArray(one.kept.last) : ofFilesystem(one)) },
                { title: _("Read"), cell: (one) => (isArray(one) && one.kept.last ? bytes(one.kept.last.bytes) : UNKNOWN), figures: true },
                { title: _("Now"), cell: (one) => (isArray(one) ? <Now of={one} open={round !== null} /> : UNKNOWN) },
            ]} />
            {arrays.filter(differs).map((one) => <Differs key={one.kept.uuid} of={one} onRepair={() => onRepair(one)} />)}
            <Lost arrays={arrays.filter(({ lost }) => lost > 0)} onRetire={onRetire} />
            {arrays.map((one) => <Repaired key={one.kept.uuid} of={one} />)}
            {arrays.map((one) => <Retired key={one.kept.uuid} of={one} />)}
        </div>
    );
}

const differs = (one: ScrubOfArray) => one.kept.last !== null && one.kept.last.mismatches > 0;

/** Which files are in doubt, and what can be done now. */
function Differs({ of, onRepair }: { of: ScrubOfArray; onRepair: () => void }): JSX.Element {
    return (
        <div data-testid={`differs-${of.kept.array}`}>
            <h3>{format(_("Array $0: sectors that do not match"), of.kept.array)}</h3>
            <Wrong of={of} />
            <Doubtful of={of} />
            {of.kept.repair !== null
                ? <p>{_("A repair is confirmed. It goes on as soon as nothing else is more important.")}</p>
                : <AdminButton variant="secondary" onClick={onRepair}>{_("Repair…")}</AdminButton>}
        </div>
    );
}

/** The drives that are wrong, in the words of the server. */
function Wrong({ of: { wrong } }: { of: ScrubOfArray }): JSX.Element {
    return <>{wrong.map((one) => <p key={one}>{one}</p>)}</>;
}

function Doubtful({ of }: { of: ScrubOfArray }): JSX.Element {
    const { files, kept } = of;
    if (kept.array === LOG) return <p>{_("This is the file system log: no file is in doubt.")}</p>;
    if (kept.last?.ranges.length === 0) return <p>{_("Which files are in doubt is not known until the next check.")}</p>;
    if (files === null) return <p>{_("The files in doubt are still being searched for.")}</p>;
    const more = files.count - files.names.length;
    return (
        <>
            <p>{files.count === 0 ? _("No file is known to be in doubt.") : format(ngettext("$0 file is in doubt:", "$0 files are in doubt:", files.count), files.count)}</p>
            {files.names.length > 0 && <ul>{files.names.map((name) => <li key={name}><code>{name}</code></li>)}</ul>}
            {more > 0 && <p>{format(_("$0 more: millrace pool scrub files lists them."), more)}</p>}
            {!files.complete && <p>{_("The search did not cover all files.")}</p>}
        </>
    );
}

function Repaired({ of }: { of: ScrubOfArray }): JSX.Element | null {
    const { repaired, array } = of.kept;
    if (repaired === null) return null;
    const text = repaired.left === 0
        ? format(_("Array $0 was repaired $1; all of it matches again."), array, moment(repaired.ended))
        : format(_("Array $0 was repaired $1; $2 sectors still do not match."), array, moment(repaired.ended), repaired.left);
    return (
        <>
            <p>{text}</p>
            {repaired.restored > 0 && <p>{format(_("$0 sectors were restored on the wrong drive from the others."), repaired.restored)}</p>}
            {repaired.kept && <p>{repaired.kept}</p>}
        </>
    );
}

/** What no drive has any more, while the file system still uses it. */
function Lost({ arrays, onRetire }: { arrays: ScrubOfArray[]; onRetire: () => void }): JSX.Element | null {
    if (arrays.length === 0) return null;
    return (
        <div data-testid="lost">
            <h3>{_("Areas that can neither be read nor rebuilt")}</h3>
            {arrays.map(({ kept: { array, uuid }, lost }) => <p key={uuid}>{format(_("Array $0: $1 sectors of each member."), array, lost)}</p>)}
            <p>{_("Reads of files with data there fail, and so does every write there. Until these areas are retired, the file system may place new data or its own metadata there, and then it shuts down.")}</p>
            <AdminButton variant="secondary" onClick={onRetire}>{_("Retire…")}</AdminButton>
        </div>
    );
}

/** What no drive has any more and no file uses: md's lists keep it. */
function Retired({ of }: { of: ScrubOfArray }): JSX.Element | null {
    const { retired, array } = of.kept;
    if (retired.length === 0) return null;
    const sectors = retired.reduce((sum, one) => sum + one.end - one.begin, 0);
    return <p>{format(_("Array $0: $1 sectors of each member are lost and retired; no file uses them."), array, sectors)}</p>;
}

/** Says what a repair is and is not before it is confirmed; where the wrong drive is known, what to do is chosen. */
function RepairDialog({ of, onClose }: { of: ScrubOfArray; onClose: () => void }): JSX.Element {
    const repair = useChange("pool scrub repair");
    const [keeps, setKeeps] = useState<boolean | null>(null);
    const known = of.restorable > 0;
    const choice = !known ? [] : keeps === true ? ["--keep-data"] : ["--write-back"];
    return (
        <ConfirmDialog title={format(_("Repair array $0?"), of.kept.array)} action={_("Repair sectors")} busy={repair.busy} ready={!known || keeps !== null} error={repair.error} onClose={onClose}
            onConfirm={() => { void repair.go([of.kept.array, "--yes", ...choice]).then((done) => { if (done) onClose(); }); }}>
            <Wrong of={of} />
            {known
                ? <Choice keeps={keeps} onChange={setKeeps} />
                : <p>{_("A repair makes the array agree with itself again: it computes parity from the data as they are, or copies one half of a mirror over the other. It does not know which is right, and restores no data.")}</p>}
            <Doubtful of={of} />
            {of.kept.array !== LOG && <p>{_("Compare these files with a backup first, and restore those that differ.")}</p>}
        </ConfirmDialog>
    );
}

function pace({ least_kib, most_kib }: CheckPace): string {
    const most = rate(most_kib * KIB);
    return least_kib === most_kib ? format(_("$0 of each drive"), most) : format(_("$0 of each drive beside clients, $1 at most"), rate(least_kib * KIB), most);
}

function Choice({ keeps, onChange }: { keeps: boolean | null; onChange: (keeps: boolean) => void }): JSX.Element {
    return (
        <>
            <Radio id="repair-restore" name="repair" label={_("Restore the wrong blocks from the other drives")} isChecked={keeps === false} onChange={() => onChange(false)}
                description={_("For files that are wrong. A block that was overwritten after the drive returned wrong data would be set back.")} />
            <Radio id="repair-keep" name="repair" label={_("Keep the data as they are")} isChecked={keeps === true} onChange={() => onChange(true)}
                description={_("For files that are right. Parity is computed from the data.")} />
            <p>{_("Where no drive is located, parity is computed from the data as they are, which restores no data.")}</p>
        </>
    );
}

type Row = ScrubOfArray | FilesystemScrub | null;

const isArray = (one: Row): one is ScrubOfArray => one !== null && "kept" in one;
const last = (one: Row): { ended: string } | null => (isArray(one) ? one.kept.last : one);
const ended = (one: { ended: string } | null, words: (when: string) => string) => (one === null ? UNKNOWN : words(one.ended));

function every(period: ScrubStatus["every"]): string {
    switch (period) {
    case "week": return _("every week");
    case "month": return _("every month");
    case "quarter": return _("every quarter");
    case "never": return _("never");
    }
}

function ofArray(checked: Scrubbed | null): JSX.Element {
    if (checked === null) return <HealthLabel level="UNKNOWN">{_("not checked yet")}</HealthLabel>;
    const { mismatches, bad_areas } = checked;
    if (mismatches === 0 && bad_areas === 0) return <HealthLabel level="OK">{_("no mismatch")}</HealthLabel>;
    const found = [
        mismatches > 0 && format(ngettext("$0 sector does not match", "$0 sectors do not match", mismatches), mismatches),
        bad_areas > 0 && format(ngettext("$0 area has bad blocks", "$0 areas have bad blocks", bad_areas), bad_areas),
    ].filter(Boolean).join(", ");
    return <HealthLabel level="WARN">{found}</HealthLabel>;
}

function ofFilesystem(checked: FilesystemScrub | null): JSX.Element {
    if (checked === null) return <HealthLabel level="UNKNOWN">{_("not checked yet")}</HealthLabel>;
    return checked.problem === null
        ? <HealthLabel level="OK">{_("sound")}</HealthLabel>
        : <HealthLabel level="WARN">{checked.problem}</HealthLabel>;
}

/** `open`: the round goes on, and the array waits for it. */
function Now({ of, open }: { of: ScrubOfArray; open: boolean }): JSX.Element {
    const { sync, kept } = of;
    if (sync !== null)
        return (
            <ProgressEta title={jobTitle(sync.action)} progress={sync.progress} secondsLeft={sync.seconds_left}
                detail={sync.bytes_per_second === null ? undefined : rate(sync.bytes_per_second)} />
        );
    const begun = kept.under_way;
    const where = open ? _("waits at $0") : _("ended at $0");
    return <>{begun === null ? UNKNOWN : format(where, percent(begun.sector / Math.max(begun.sectors, 1)))}</>;
}
