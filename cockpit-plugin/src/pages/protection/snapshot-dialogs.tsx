// SPDX-License-Identifier: Apache-2.0
/** The removal and the lock of a snapshot, and the schedule of a share. */
import { useState, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { ScheduleChange, Share, SnapshotRow } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { bytes, duration, number } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { CHANGE_SECONDS } from "../../lib/seconds";
import { KINDS, type Kind } from "./words";

export function RemoveSnapshot({ row, onDone, onClose }: { row: SnapshotRow; onDone: () => void; onClose: () => void }): JSX.Element {
    const [typed, setTyped] = useState("");
    const [after, setAfter] = useState("");
    const remove = useChange("snapshot remove");
    const words = [`${row.share}@${row.name}`, ...(after === "" ? [] : [`--after=${after}`])];
    const confirm = async () => { if (await remove.go(words) !== undefined) onDone(); };
    return (
        <ConfirmDialog danger title={format(_("Remove the snapshot $0?"), row.name)} action={_("Remove snapshot")}
            ready={typed === row.name && /^\d{0,3}$/u.test(after)} busy={remove.busy} error={remove.error} onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("Files that only this snapshot has are lost. The share itself stays as it is.")}</p>
                <p>{_("The snapshot is removed after the waiting time of the policy (snapshots.removal_delay). It can be kept until then.")}</p>
                <Form onSubmit={(event) => event.preventDefault()}>
                    <TextField id="snapshot-after" label={_("Hours until the removal")} help={_("Without a number, those of the policy; not less than those.")}
                        value={after} onChange={setAfter} disabled={remove.busy} />
                    <TextField id="snapshot-name" label={format(_("Type “$0” to confirm the removal"), row.name)} value={typed} onChange={setTyped} />
                </Form>
            </div>
        </ConfirmDialog>
    );
}

/** A date: a lock only gets longer, and nobody ends it. */
export function LockSnapshot({ row, onDone, onClose }: { row: SnapshotRow; onDone: () => void; onClose: () => void }): JSX.Element {
    const [until, setUntil] = useState("");
    const lock = useChange("snapshot lock");
    const confirm = async () => { if (await lock.go([`${row.share}@${row.name}`, `--until=${until}`]) !== undefined) onDone(); };
    return (
        <ConfirmDialog title={format(_("Lock the snapshot $0?"), row.name)} action={_("Lock snapshot")}
            ready={/^\d{4}-\d{2}-\d{2}$/u.test(until)} busy={lock.busy} error={lock.error} onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("Nobody can remove a locked snapshot, and nobody can end the lock. An ordered removal is cancelled.")}</p>
                <Form onSubmit={(event) => event.preventDefault()}>
                    <TextField id="lock-until" label={_("Locked until")} help={_("A date such as 2027-01-31, in UTC")} value={until} onChange={setUntil} disabled={lock.busy} required />
                </Form>
            </div>
        </ConfirmDialog>
    );
}

/** Four numbers; the plan comes before the change. All zero ends the schedule. */
export function ScheduleDialog({ share, onDone, onClose }: { share: Share; onDone: () => void; onClose: () => void }): JSX.Element {
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
