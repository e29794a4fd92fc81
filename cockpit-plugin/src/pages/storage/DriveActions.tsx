// SPDX-License-Identifier: Apache-2.0
/** What can be done with one drive: the actions of its row that the pages offer. */
import { useState, type JSX } from "react";
import type { DriveRow } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ErrorAlert } from "../../components/States";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { go } from "../../lib/route";
import type { ChangeVerb } from "./change-words";
import { EraseDrive } from "./EraseDrive";
import { TestDrive } from "./TestDrives";

type Action = (props: { drive: DriveRow; onDone: () => void }) => JSX.Element;

/** Replacing is offered where a drive may be replaced: its dialog waits for the new one. */
const ACTIONS: Partial<Record<DriveRow["actions"][number], Action>> = { add: Add, remove: Remove, locate: Locate, test: TestDrive, erase: Erase };
/** Seconds that a drive blinks, and what the program may take besides. */
const BLINKS = 60;
const STARTS = 60;

export function DriveActions({ drive, onDone }: { drive: DriveRow; onDone: () => void }): JSX.Element {
    return (
        <>
            {drive.needs_bytes !== null && <Replace drive={drive} />}
            {drive.actions.map((name) => {
                const Button = ACTIONS[name];
                return Button && <Button key={name} drive={drive} onDone={onDone} />;
            })}
        </>
    );
}

function Replace({ drive }: { drive: DriveRow }): JSX.Element {
    return <Change verb="replace" serial={drive.serial} label={format(_("Replace drive $0"), drive.serial)}>{_("Replace…")}</Change>;
}

function Add({ drive }: { drive: DriveRow }): JSX.Element {
    return <Change verb="add" serial={drive.serial} label={format(_("Add drive $0 as a hot spare"), drive.serial)}>{_("Add…")}</Change>;
}

function Remove({ drive }: { drive: DriveRow }): JSX.Element {
    return <Change verb="remove" serial={drive.serial} label={format(_("Remove drive $0"), drive.serial)}>{_("Remove…")}</Change>;
}

function Change({ verb, serial, label, children }: { verb: ChangeVerb; serial: string; label: string; children: string }): JSX.Element {
    return (
        <>
            <AdminButton least="operator" variant="link" isInline aria-label={label} onClick={() => go(["storage", verb, serial])}>{children}</AdminButton>{" "}
        </>
    );
}

export function Locate({ drive }: { drive: DriveRow }): JSX.Element {
    const locate = useChange("drive locate", { timeout: BLINKS + STARTS });
    return (
        <>
            <AdminButton least="operator" variant="link" isInline isLoading={locate.busy} isDisabled={locate.busy}
                aria-label={format(_("Locate drive $0"), drive.serial)}
                onClick={() => void locate.go([drive.serial, `--seconds=${BLINKS}`])}>
                {locate.busy ? _("Blinking") : _("Locate")}
            </AdminButton>{" "}
            <ErrorAlert error={locate.error} />
        </>
    );
}

function Erase({ drive, onDone }: { drive: DriveRow; onDone: () => void }): JSX.Element {
    const [open, setOpen] = useState(false);
    return (
        <>
            <AdminButton least="operator" variant="link" isInline isDanger aria-label={format(_("Erase drive $0"), drive.serial)} onClick={() => setOpen(true)}>
                {_("Erase…")}
            </AdminButton>{" "}
            {open && <EraseDrive drive={drive} onDone={onDone} onClose={() => setOpen(false)} />}
        </>
    );
}
