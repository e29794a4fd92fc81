// SPDX-License-Identifier: Apache-2.0
/** A release is looked at before it is installed; its news are shown as text. */
import { useEffect, useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { LastUpdate, UpdateStatus } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ChoiceField, TextField } from "../../components/Field";
import { Loading } from "../../components/States";
import { bytes } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";

type When = "later" | "now" | "time";
type OnDone = (last: LastUpdate) => void;

/** Seconds: half a gigabyte is downloaded from a slow line, verified and written to a slow boot drive. */
const INSTALL_SECONDS = 4 * 3600;
const CHECK_SECONDS = 300;
const TIME = /^([01][0-9]|2[0-3]):[0-5][0-9]$/;

/** When the server reboots: as `--reboot` takes it, or undefined where the time is none. */
function useReboot(id: string): [string | undefined, JSX.Element] {
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

/** Shows what the source or a file has, and installs it. */
export function InstallDialog({ source, onDone, onClose }: { source: string | null; onDone: OnDone; onClose: () => void }): JSX.Element {
    const [file, setFile] = useState("");
    const check = useChange("update check", { timeout: CHECK_SECONDS });
    const apply = useChange("update apply", { timeout: INSTALL_SECONDS });
    const [offer, setOffer] = useState<Awaited<ReturnType<typeof check.go>>>();
    const [reboot, rebootField] = useReboot("update");
    const where = file === "" ? [] : [file];
    const { go: ask } = check;
    // What the source has is asked for once; a file is typed first.
    useEffect(() => { if (source !== null) void ask().then(setOffer); }, [source, ask]);
    const confirm = async () => {
        if (offer === undefined) { setOffer(await ask(where)); return; }
        const last = await apply.go([...where, "--yes", ...(reboot === undefined ? [] : [`--reboot=${reboot}`])]);
        if (last !== undefined) onDone(last);
    };
    const ready = offer === undefined ? source !== null || file !== "" : offer.refusal === null && reboot !== undefined;
    return (
        <ConfirmDialog title={offer === undefined ? _("Check for an update") : format(_("Install version $0"), offer.version)}
            action={offer === undefined ? _("Check") : _("Install")} ready={ready} busy={check.busy || apply.busy}
            error={apply.error ?? check.error} onConfirm={() => void confirm()} onClose={onClose}>
            {check.busy && <Loading what={_("Checking the release")} />}
            <Form onSubmit={(event) => event.preventDefault()}>
                {offer === undefined && (
                    <TextField id="update-file" label={_("File or directory on the server")} value={file} onChange={setFile}
                        placeholder="/media/stick/millrace_0.2.0.tar"
                        help={source === null ? _("Such as on a stick. Or change the source of updates first.") : format(_("Without one: $0"), source)} />
                )}
                {offer !== undefined && (
                    <>
                        <p>{format(_("Version $0, $1. This server runs $2."), offer.version, bytes(offer.size), offer.running)}</p>
                        {offer.refusal !== null && <p role="alert">{offer.refusal}</p>}
                        <section aria-label={_("What is new")}><pre className="mr-pre">{offer.news}</pre></section>
                        {rebootField}
                    </>
                )}
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
