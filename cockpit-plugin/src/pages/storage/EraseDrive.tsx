// SPDX-License-Identifier: Apache-2.0
/** Erasing takes the serial number typed. The work is a unit of the server: it goes on without this page. */
import { useEffect, useRef, useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { DriveRow } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { ProgressEta } from "../../components/ProgressEta";
import { bytes, rate } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { follow, type CliError } from "../../lib/millrace";
import { driveVerdict } from "./words";

type Line = Outputs["drive erase"];

export function EraseDrive({ drive, onDone, onClose }: { drive: DriveRow; onDone: () => void; onClose: () => void }): JSX.Element {
    const [typed, setTyped] = useState("");
    const [now, setNow] = useState<Line>();
    const [busy, setBusy] = useState(false);
    const [done, setDone] = useState(false);
    const [error, setError] = useState<CliError>();
    const stop = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => stop.current?.abort(), []);

    const erase = () => {
        const signal = (stop.current = new AbortController()).signal;
        const foreign = drive.verdict === "foreign" || drive.verdict === "other pool" ? ["--foreign"] : [];
        setBusy(true);
        setError(undefined);
        follow("drive erase", [drive.serial, `--serial-again=${typed}`, ...foreign], setNow, { admin: true, signal }).then(() => {
            if (signal.aborted) return;
            setBusy(false);
            setDone(true);
            onDone();
        }, (failed: CliError) => {
            setBusy(false);
            setError(failed);
            onDone();
        });
    };
    const line = now !== undefined && "what" in now ? now : undefined;
    const progress = line === undefined || line.done === null || line.total === null ? null : line.done / line.total;
    const unproved = now !== undefined && "unproved" in now ? now.unproved : null;
    if (done) {
        return (
            <ConfirmDialog title={format(_("The drive $0 is erased"), drive.serial)} action={_("Close")} onConfirm={onClose} onClose={onClose}>
                {unproved === null ? null : <p>{format(_("Not proved: $0."), unproved)}</p>}
            </ConfirmDialog>
        );
    }
    return (
        <ConfirmDialog danger title={format(_("Erase the drive $0?"), drive.serial)} action={_("Erase drive")}
            ready={typed === drive.serial} busy={busy} error={error} onConfirm={erase} onClose={onClose}>
            <div className="mr-stack">
                <p>{format(_("All data on this drive is permanently deleted: $0, $1, bay $2."), drive.model, bytes(drive.size_bytes), drive.bay ?? _("unknown"))}</p>
                <p>{driveVerdict(drive)}</p>
                {busy
                    ? <ProgressEta title={_("Erasing")} secondsLeft={line?.seconds_left} progress={progress}
                        detail={line?.bytes_per_second ? rate(line.bytes_per_second) : undefined} />
                    : (
                        <Form onSubmit={(event) => event.preventDefault()}>
                            <TextField id="erase-serial" label={format(_("Type “$0” to confirm"), drive.serial)} value={typed} onChange={setTyped} />
                        </Form>
                    )}
            </div>
        </ConfirmDialog>
    );
}
