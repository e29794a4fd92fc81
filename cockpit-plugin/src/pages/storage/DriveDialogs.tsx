// SPDX-License-Identifier: Apache-2.0
/** The dialogs of changes of drives. The address of the page says which one is open, so that a reload opens it again. */
import type { JSX } from "react";
import type { DriveRow, LiveArray } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import type { Result } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { ChangeDialog, Redundancy } from "./ChangeProgress";
import { Proposal, useProposal } from "./Proposal";
import { ReplaceDrive } from "./ReplaceDrive";
import { useDriveChange } from "./useDriveChange";

export interface ChangeDialogProps {
    serial: string;
    rows: DriveRow[];
    arrays: LiveArray[];
    progress: Result<Outputs["drive progress"]>;
    reload: () => void;
    onClose: () => void;
}

/** The dialog that `path` of the address names; none for another path. */
export function DriveDialog({ path, ...props }: Omit<ChangeDialogProps, "serial"> & { path: readonly string[] }): JSX.Element | null {
    const [verb, serial] = path;
    if (serial === undefined) return null;
    switch (verb) {
    case "replace": return <ReplaceDrive key={serial} serial={serial} {...props} />;
    case "add":
    case "remove": return <Confirm key={`${verb} ${serial}`} verb={verb} serial={serial} {...props} />;
    default: return null;
    }
}

function Confirm({ verb, serial, arrays, progress, reload, onClose }: ChangeDialogProps & { verb: "add" | "remove" }): JSX.Element {
    const change = useDriveChange(verb, progress, reload);
    const proposed = useProposal(verb, serial, change.error);
    if (change.now !== undefined) return <ChangeDialog now={change.now} arrays={arrays} onAgain={change.forget} onClose={onClose} />;
    const sha256 = proposed.proposal?.sha256;
    return (
        <ConfirmDialog title={verb === "add" ? format(_("Add drive $0 as a hot spare?"), serial) : format(_("Remove drive $0 from the pool?"), serial)}
            action={verb === "add" ? _("Add drive") : _("Remove drive")} ready={sha256 !== undefined} busy={change.busy} error={change.error}
            onConfirm={() => { if (sha256) change.go([serial, `--plan=${sha256}`]); }} onClose={onClose}>
            <div className="mr-stack">
                {verb === "remove" && <p>{_("The drive is taken out of its arrays, so that it may be pulled.")}</p>}
                <Proposal of={proposed} />
                <Redundancy names={proposed.proposal?.plan.leaves ?? []} arrays={arrays} />
            </div>
        </ConfirmDialog>
    );
}
