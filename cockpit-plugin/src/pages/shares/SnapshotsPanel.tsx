// SPDX-License-Identifier: Apache-2.0
/** The snapshots of a share: how exact each is, made now or by a schedule, and removed. The work is a job of the server. */
import { useEffect, useRef, useState, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { ScheduleChange, Share, SnapshotRow, SnapshotSchedule } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { DataTable, type Column } from "../../components/DataTable";
import { TextField } from "../../components/Field";
import { JobView } from "../../components/JobView";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded, NoAdmin } from "../../components/States";
import { bytes, duration, moment, number, UNKNOWN } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { useJob } from "../../lib/jobs";
import { follow, type CliError } from "../../lib/millrace";
import { useAdmin } from "../../lib/permission";
import { CHANGE_SECONDS } from "../../lib/seconds";
import { SnapshotFiles } from "./SnapshotFiles";

const KINDS = ["hourly", "daily", "weekly", "monthly"] as const;
type Kind = (typeof KINDS)[number];

function kindWord(kind: string): string {
    switch (kind) {
    case "hourly": return _("hourly");
    case "daily": return _("daily");
    case "weekly": return _("weekly");
    case "monthly": return _("monthly");
    case "backup": return _("for a backup");
    case "restored": return _("from a backup");
    default: return _("by hand");
    }
}

const kindOf = ({ name }: SnapshotRow) => name.slice(name.lastIndexOf("-") + 1);

function exactness({ manifest }: SnapshotRow): string {
    if (manifest === null) return _("unknown: the manifest cannot be read");
    if (manifest.moment !== null) return _("the whole share at one moment");
    return format(ngettext("each file at one moment; $0 changed meanwhile", "each file at one moment; $0 changed meanwhile", manifest.changed_count),
        number(manifest.changed_count));
}

function fate({ removal, lock }: SnapshotRow): string {
    if (lock !== null) return format(_("locked until $0"), moment(lock.until));
    if (removal !== null) return format(_("will be removed $0, ordered by $1"), moment(removal.due), removal.by);
    return "";
}

function kept(schedule: SnapshotSchedule | null | undefined): string {
    if (!schedule) return _("No schedule: snapshots are made by hand.");
    const words = KINDS.filter((kind) => (schedule[kind] ?? 0) > 0).map((kind) => `${number(schedule[kind] ?? 0)} ${kindWord(kind)}`);
    return format(_("Kept by the schedule: $0."), words.join(", "));
}

export function SnapshotsPanel({ share, onChanged }: { share: Share; onChanged: () => void }): JSX.Element {
    const admin = useAdmin();
    const found = useVerb("snapshot list", [share.name], { admin: true, when: admin === true });
    const [error, setError] = useState<CliError>();
    const [removing, setRemoving] = useState<SnapshotRow>();
    const [opened, setOpened] = useState<SnapshotRow>();
    const [scheduling, setScheduling] = useState(false);
    const stop = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => stop.current?.abort(), []);
    const job = useJob("snapshot");
    const id = job.ended?.ended;
    const { reload } = found;
    useEffect(() => { if (id !== undefined) reload(); }, [id, reload]);
    const create = () => {
        const signal = (stop.current = new AbortController()).signal;
        setError(undefined);
        let begun = false;
        const seen = () => { if (!begun) job.look(); begun = true; };
        follow("snapshot create", [share.name], seen, { admin: true, signal })
            .then(() => { if (!signal.aborted) reload(); }, (failed: CliError) => { if (!signal.aborted) setError(failed); });
    };
    const stays = useChange("snapshot keep");
    const keep = async ({ share: of, name }: SnapshotRow) => { if (await stays.go([`${of}@${name}`]) !== undefined) reload(); };
    const action = (row: SnapshotRow) => {
        if (row.lock !== null) return "";
        if (row.removal !== null) {
            return (
                <AdminButton least="operator" variant="link" size="sm" isDisabled={stays.busy} aria-label={format(_("Keep the snapshot $0"), row.name)}
                    onClick={() => void keep(row)}>{_("Keep")}</AdminButton>
            );
        }
        return (
            <AdminButton variant="link" size="sm" isDanger aria-label={format(_("Remove the snapshot $0"), row.name)} onClick={() => setRemoving(row)}>{_("Remove")}</AdminButton>
        );
    };
    const columns: Column<SnapshotRow>[] = [
        { title: _("Made"), heads: true, sort: ({ name }) => name, cell: (row) => (row.manifest === null ? row.name : moment(row.manifest.first)) },
        { title: _("Kind"), sort: kindOf, cell: (row) => `${kindWord(kindOf(row))}${row.former ? ` (${_("of a former share")})` : ""}` },
        { title: _("Exactness"), cell: exactness },
        { title: _("Files"), figures: true, cell: ({ manifest }) => (manifest === null ? UNKNOWN : number(manifest.entries)) },
        { title: _("Removal"), cell: fate },
        { title: _("Actions"), cell: (row) => (
            <>
                <AdminButton least="operator" variant="link" size="sm" aria-label={format(_("Files of the snapshot $0"), row.name)} onClick={() => setOpened(row)}>{_("Files")}</AdminButton>
                {action(row)}
            </>
        ) },
    ];
    return (
        <Panel title={_("Snapshots")} wide testId="share-snapshots" actions={(
            <div className="mr-row-actions">
                <AdminButton least="operator" variant="secondary" size="sm" onClick={create}>{_("Make a snapshot now")}</AdminButton>
                <AdminButton variant="secondary" size="sm" onClick={() => setScheduling(true)}>{_("Schedule")}</AdminButton>
            </div>
        )}>
            <div className="mr-stack">
                <ErrorAlert error={error} />
                <ErrorAlert error={stays.error} />
                <p>{kept(share.snapshots)}</p>
                {job.now !== undefined && <JobView job={job.now} onCancelled={job.look} />}
                {admin === false && <NoAdmin what={_("Listing snapshots requires administrative access.")} />}
                {admin === true && (
                    <Loaded of={found} what={_("Loading snapshots")}>
                        {({ snapshots, problem }) => (
                            <>
                                {problem !== null && <Alert isInline variant="warning" title={_("Removals and locks are not known")}>{problem}</Alert>}
                                {snapshots.length === 0 ? <p>{_("There is no snapshot of this share.")}</p>
                                    : <DataTable label={_("Snapshots")} columns={columns} rows={[...snapshots].reverse()} rowKey={({ name }) => name} />}
                            </>
                        )}
                    </Loaded>
                )}
            </div>
            {opened !== undefined && <SnapshotFiles row={opened} onClose={() => setOpened(undefined)} />}
            {removing !== undefined && (
                <RemoveSnapshot row={removing} onDone={() => { setRemoving(undefined); reload(); }} onClose={() => setRemoving(undefined)} />
            )}
            {scheduling && (
                <ScheduleDialog share={share} onDone={() => { setScheduling(false); onChanged(); reload(); }} onClose={() => setScheduling(false)} />
            )}
        </Panel>
    );
}

function RemoveSnapshot({ row, onDone, onClose }: { row: SnapshotRow; onDone: () => void; onClose: () => void }): JSX.Element {
    const [typed, setTyped] = useState("");
    const remove = useChange("snapshot remove");
    const confirm = async () => { if (await remove.go([`${row.share}@${row.name}`]) !== undefined) onDone(); };
    return (
        <ConfirmDialog danger title={format(_("Remove the snapshot $0?"), row.name)} action={_("Remove snapshot")}
            ready={typed === row.name} busy={remove.busy} error={remove.error} onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("Files that only this snapshot has are lost. The share itself stays as it is.")}</p>
                <p>{_("The snapshot is removed after the waiting time of the policy (snapshots.removal_delay). It can be kept until then.")}</p>
                <Form onSubmit={(event) => event.preventDefault()}>
                    <TextField id="snapshot-name" label={format(_("Type “$0” to confirm the removal"), row.name)} value={typed} onChange={setTyped} />
                </Form>
            </div>
        </ConfirmDialog>
    );
}

/** Four numbers; the plan comes before the change. All zero ends the schedule. */
function ScheduleDialog({ share, onDone, onClose }: { share: Share; onDone: () => void; onClose: () => void }): JSX.Element {
    const before = share.snapshots;
    const [numbers, setNumbers] = useState<Record<Kind, string>>({
        hourly: String(before?.hourly ?? 24), daily: String(before?.daily ?? 14),
        weekly: String(before?.weekly ?? 8), monthly: String(before?.monthly ?? 0),
    });
    const [planned, setPlanned] = useState<ScheduleChange>();
    const change = useChange("snapshot schedule", { timeout: CHANGE_SECONDS });
    const valid = KINDS.every((kind) => /^\d{1,3}$/u.test(numbers[kind]));
    const ends = KINDS.every((kind) => Number(numbers[kind]) === 0);
    const words = ends ? ["--off"] : KINDS.map((kind) => `--${kind}=${String(Number(numbers[kind]))}`);
    const labels: Record<Kind, string> = {
        hourly: _("Hourly snapshots"), daily: _("Daily snapshots"), weekly: _("Weekly snapshots"), monthly: _("Monthly snapshots"),
    };
    const plan = async () => setPlanned(await change.go([share.name, ...words, "--dry-run"]));
    const set = async () => { if (await change.go([share.name, ...words]) !== undefined) onDone(); };
    const put = (kind: Kind) => (text: string) => { setNumbers({ ...numbers, [kind]: text }); setPlanned(undefined); };
    const known = planned?.plan ?? undefined;
    return (
        <ConfirmDialog title={format(_("Schedule of snapshots of $0"), share.name)} action={planned === undefined ? _("Show plan") : _("Set schedule")}
            ready={valid && (planned === undefined || (known?.obstacle ?? null) === null)} busy={change.busy} error={change.error}
            onConfirm={() => void (planned === undefined ? plan() : set())} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("So many snapshots of each kind are kept; older ones are removed. Snapshots that are made by hand stay. Four zeros end the schedule.")}</p>
                <Form onSubmit={(event) => event.preventDefault()}>
                    {KINDS.map((kind) => (
                        <TextField key={kind} id={`schedule-${kind}`} label={labels[kind]} value={numbers[kind]} onChange={put(kind)} disabled={change.busy} required />
                    ))}
                </Form>
                {known !== undefined && (
                    <>
                        <p>{format(_("A snapshot has $0 files and directories and takes about $1."), number(known.entries), duration(known.seconds))}</p>
                        <p>{format(_("All of them hold about $0 for the metadata of their files, and what clients change or remove. Below $1 % of free space the oldest are removed."), bytes(known.held), number(known.floor))}</p>
                        {known.obstacle !== null && <Alert isInline variant="danger" title={_("This schedule cannot hold")}>{known.obstacle}</Alert>}
                    </>
                )}
                {planned !== undefined && known === undefined && <p>{_("The schedule ends; its snapshots stay.")}</p>}
            </div>
        </ConfirmDialog>
    );
}
