// SPDX-License-Identifier: Apache-2.0
/** When another version starts, the way back, and where updates come from. */
import { useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { LastUpdate, UpdateStatus } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ChoiceField, TextField } from "../../components/Field";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";

type When = "later" | "now" | "time";
type OnDone = (last: LastUpdate) => void;

const TIME = /^([01][0-9]|2[0-3]):[0-5][0-9]$/;

/** When the server reboots: as `--reboot` takes it, or undefined where the time is none. */
export function useReboot(id: string): [string | undefined, JSX.Element] {
    const [when, setWhen] = useState<When>("later");
    const [time, setTime] = useState("03:30");
    const problem = when === "time" && !TIME.test(time) ? _("Enter a time of day, such as 03:30.") : undefined;
    const field = (
        <>
            <ChoiceField<When> id={`${id}-when`} label={_("Reboot")} value={when} onChange={setWhen}
                options={[
                    { value: "later", label: _("Later, by hand") },
                    { value: "now", label: _("Now") },
                    { value: "time", label: _("At a time of day") },
                ]}
                help={_("NFS clients with a hard mount wait meanwhile. SMB clients connect again.")} />
            {when === "time" && <TextField id={`${id}-time`} label={_("Time of the server")} required value={time} onChange={setTime} problem={problem} />}
        </>
    );
    return [problem === undefined ? (when === "time" ? time : when) : undefined, field];
}

/** Changes when the other version starts, or that nothing is planned. */
export function RebootDialog({ onDone, onClose }: { onDone: () => void; onClose: () => void }): JSX.Element {
    const change = useChange("update reboot");
    const [reboot, rebootField] = useReboot("planned");
    const confirm = async () => {
        if (reboot !== undefined && await change.go([reboot]) !== undefined) onDone();
    };
    return (
        <ConfirmDialog title={_("Reboot for the other version")} action={_("Change")} ready={reboot !== undefined} busy={change.busy}
            error={change.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <p>{_("“Later” cancels a planned reboot: the other version starts when the server is rebooted by hand.")}</p>
                {rebootField}
            </Form>
        </ConfirmDialog>
    );
}

/** Lets the other version start from now on. */
export function RollbackDialog({ now, onDone, onClose }: { now: UpdateStatus; onDone: OnDone; onClose: () => void }): JSX.Element {
    const rollback = useChange("update rollback");
    const [reboot, rebootField] = useReboot("rollback");
    const to = now.trial !== null && now.trial.version !== now.version ? now.version : now.other?.version ?? now.version;
    const confirm = async () => {
        const last = await rollback.go(["--yes", ...(reboot === undefined ? [] : [`--reboot=${reboot}`])]);
        if (last !== undefined) onDone(last);
    };
    return (
        <ConfirmDialog title={format(_("Go back to version $0"), to)} action={_("Go back")} danger ready={reboot !== undefined} busy={rollback.busy}
            error={rollback.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <p>{format(_("Version $0 starts from the next boot on. Shares, users and data stay as they are."), to)}</p>
                {rebootField}
            </Form>
        </ConfirmDialog>
    );
}

/** Names the directory of a web server from which updates come; empty: none. */
export function SourceDialog({ before, onDone, onClose }: { before: string | null; onDone: () => void; onClose: () => void }): JSX.Element {
    const [url, setUrl] = useState(before ?? "");
    const change = useChange("update source");
    const confirm = async () => {
        if (await change.go(url.trim() === "" ? ["--remove"] : [url.trim()]) !== undefined) onDone();
    };
    return (
        <ConfirmDialog title={_("Source of updates")} action={_("Change")} busy={change.busy} error={change.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <TextField id="update-url" label={_("URL of a directory")} value={url} onChange={setUrl} placeholder="https://files.example/millrace/"
                    help={_("Your own web server. Nothing is downloaded until you say so. Empty: no source.")} />
            </Form>
        </ConfirmDialog>
    );
}
