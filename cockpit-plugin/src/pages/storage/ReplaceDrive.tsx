// SPDX-License-Identifier: Apache-2.0
/** Leads from the drive that goes to the one that comes; what fits is decided by the dry run of the program. */
import { useEffect, useRef, useState, type JSX } from "react";
import type { DriveRow } from "../../types/millrace";
import { ChoiceField } from "../../components/Field";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ProgressEta } from "../../components/ProgressEta";
import { bytes, number } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { changeState } from "./change-words";
import { ChangeDialog, Redundancy } from "./ChangeProgress";
import type { ChangeDialogProps } from "./DriveDialogs";
import { Locate } from "./DriveActions";
import { Proposal, useProposal } from "./Proposal";
import { useDriveChange, type DriveChanging } from "./useDriveChange";
import { driveVerdict } from "./words";

/** Best first; a drive with another verdict is shown with it, and not asked about. */
const CANDIDATES: DriveRow["verdict"][] = ["blank", "unknown", "too small"];

export function ReplaceDrive(props: ChangeDialogProps): JSX.Element {
    const { serial, rows, arrays, progress, reload, onClose } = props;
    const change = useDriveChange("replace", progress, reload);
    // It may have ended while the page was reloaded: the old drive is in no list any more.
    const last = progress.data?.change;
    const over = changeState(last) === "done" && last?.change.plan.old?.serial === serial && !rows.some((one) => one.serial === serial);
    const now = change.now ?? (over ? last : undefined);
    if (now) return <ChangeDialog now={now} arrays={arrays} onAgain={change.forget} onClose={onClose} />;
    return <Choose {...props} change={change} />;
}

function Choose({ serial, rows, arrays, onClose, change }: ChangeDialogProps & { change: DriveChanging }): JSX.Element {
    const old = rows.find((one) => one.serial === serial);
    const outside = rows.filter(({ name, serial: its, role }) => name !== null && its !== "" && role === "none");
    const candidates = byPreference(outside.filter(({ verdict }) => CANDIDATES.includes(verdict)), old?.bay ?? null);
    const others = outside.filter((one) => !candidates.includes(one));
    const [chosen, setChosen] = useState<string>();
    const fresh = candidates.find((one) => one.serial === chosen) ?? candidates[0];
    const proposed = useProposal("replace", serial, change.error, fresh?.serial ?? "", fresh !== undefined);
    const { reload } = proposed;
    // The same drive after it was erased, or came back.
    const seen = useRef(fresh);
    useEffect(() => {
        const before = seen.current;
        seen.current = fresh;
        if (before && fresh && before.serial === fresh.serial && (before.verdict !== fresh.verdict || before.name !== fresh.name)) reload();
    }, [fresh, reload]);
    const needs = old?.needs_bytes ?? null;
    const sha256 = proposed.proposal?.sha256;
    return (
        <ConfirmDialog title={format(_("Replace drive $0?"), serial)} action={_("Replace drive")} ready={sha256 !== undefined} busy={change.busy}
            error={change.error} onConfirm={() => { if (fresh && sha256) change.go([serial, `--with=${fresh.serial}`, `--plan=${sha256}`]); }} onClose={onClose}>
            <div className="mr-stack">
                <h3>{_("1. Old drive")}</h3>
                {old === undefined ? <p>{format(_("No drive has the serial number $0."), serial)}</p> : <OldDrive drive={old} />}
                <h3>{_("2. New drive")}</h3>
                {fresh === undefined
                    ? (
                        <>
                            <ProgressEta title={_("Waiting for a new drive")} progress={null} />
                            {needs !== null && (
                                <p>{format(_("Insert a blank drive of at least $0 ($1 bytes)."), bytes(needs), number(needs))}</p>
                            )}
                        </>
                    )
                    : candidates.length === 1
                        ? <p data-testid="arrived">{format(_("This drive has arrived: $0"), inWords(fresh))}</p>
                        : (
                            <ChoiceField id="new-drive" label={_("New drive")} value={fresh.serial} onChange={setChosen} disabled={change.busy}
                                options={candidates.map((one) => ({ value: one.serial, label: inWords(one) }))} />
                        )}
                {others.length > 0 && (
                    <>
                        <p>{_("These drives cannot be used:")}</p>
                        <ul data-testid="refused">{others.map((one) => <li key={one.serial}>{inWords(one)}</li>)}</ul>
                    </>
                )}
                {fresh !== undefined && (
                    <>
                        <h3>{_("3. What will be written")}</h3>
                        <Proposal of={proposed} />
                    </>
                )}
                <h3>{_("What may fail meanwhile")}</h3>
                <Redundancy names={old?.arrays ?? []} arrays={arrays} />
            </div>
        </ConfirmDialog>
    );
}

function byPreference(rows: DriveRow[], bay: string | null): DriveRow[] {
    const rank = ({ verdict, bay: its }: DriveRow) => 2 * CANDIDATES.indexOf(verdict) + (bay !== null && its === bay ? 0 : 1);
    return [...rows].sort((a, b) => rank(a) - rank(b));
}

function inWords(drive: DriveRow): string {
    const lacks = drive.too_small_by === null ? "" : ` (${format(_("$0 bytes"), number(drive.too_small_by))})`;
    return format(_("$0, bay $1, $2: $3"), drive.serial, drive.bay ?? _("unknown"), bytes(drive.size_bytes), driveVerdict(drive) + lacks);
}

function OldDrive({ drive }: { drive: DriveRow }): JSX.Element {
    return (
        <>
            <p>{inWords(drive)}</p>
            <p>{whatToDo(drive)}</p>
            {drive.actions.includes("locate") && <div><Locate drive={drive} /></div>}
        </>
    );
}

function whatToDo({ verdict }: DriveRow): string {
    switch (verdict) {
    case "missing": return _("The drive is not in the server; the bay is its last one.");
    case "faulty": return _("Pull this drive, and insert the new one into its bay.");
    default: return _("This drive can be read. Leave it in its bay until it is copied, and insert the new drive into a free bay: redundancy is kept.");
    }
}
