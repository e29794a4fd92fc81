// SPDX-License-Identifier: Apache-2.0
/** The snapshots of a share: how exact each is, made now or by a schedule, and removed. The work is a job of the server. */
import { useEffect, useRef, useState, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { Share, SnapshotRow, SnapshotSchedule } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { DataTable, type Column } from "../../components/DataTable";
import { JobView } from "../../components/JobView";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded, NoAdmin } from "../../components/States";
import { moment, number, UNKNOWN } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { useJob } from "../../lib/jobs";
import { follow, type CliError } from "../../lib/millrace";
import { useMay } from "../../lib/permission";
import { LockSnapshot, RemoveSnapshot, ScheduleDialog } from "./snapshot-dialogs";
import { SnapshotFiles } from "./SnapshotFiles";
import { KINDS, kindWord } from "./words";

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
    const may = useMay("viewer");
    const found = useVerb("snapshot list", [share.name], { admin: true, when: may === true });
    const [error, setError] = useState<CliError>();
    const [removing, setRemoving] = useState<SnapshotRow>();
    const [locking, setLocking] = useState<SnapshotRow>();
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
                <AdminButton variant="link" size="sm" aria-label={format(_("Lock the snapshot $0"), row.name)} onClick={() => setLocking(row)}>{_("Lock")}</AdminButton>
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
                {may === false && <NoAdmin what={_("Listing snapshots requires administrative access.")} />}
                {may === true && (
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
            {locking !== undefined && (
                <LockSnapshot row={locking} onDone={() => { setLocking(undefined); reload(); }} onClose={() => setLocking(undefined)} />
            )}
            {scheduling && (
                <ScheduleDialog share={share} onDone={() => { setScheduling(false); onChanged(); reload(); }} onClose={() => setScheduling(false)} />
            )}
        </Panel>
    );
}
