// SPDX-License-Identifier: Apache-2.0
/** A release is looked at before it is installed; its news are shown as text. */
import { useEffect, useRef, useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { LastUpdate, KernelOption, Offer } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { Field, TextField } from "../../components/Field";
import { ProgressEta } from "../../components/ProgressEta";
import { Loading } from "../../components/States";
import { bytes } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { run, type CliError } from "../../lib/millrace";
import { upload } from "../../lib/upload";
import { useReboot } from "./update-dialogs";

/** Seconds: half a gigabyte is downloaded from a slow line, verified and written to a slow boot drive. */
const INSTALL_SECONDS = 4 * 3600;
const CHECK_SECONDS = 300;

/** What an option does that a version needs, to be ticked. */
function allowed(option: KernelOption["option"]): string {
    switch (option) {
    case "older": return _("Install the older version; documents that this version changed are as that one left them");
    case "again": return _("Try the version again that failed on this server");
    case "degraded": return _("Install with degraded arrays; a drive that fails during the reboot may cost the pool");
    }
}

/** A file of the browser on its way to the server. */
function useUpload(onOffer: (offer: Offer) => void) {
    const [state, setState] = useState<{ received: number; size: number; error: CliError | undefined }>();
    const stop = useRef<AbortController | undefined>(undefined);
    const staged = useRef(false);
    const go = async (file: File) => {
        const own = new AbortController();
        stop.current = own;
        setState({ received: 0, size: file.size, error: undefined });
        try {
            await upload("update upload", [`--size=${file.size}`], file, ({ received, size, offer }) => {
                setState({ received, size, error: undefined });
                if (offer !== null) { staged.current = true; onOffer(offer); }
            }, own.signal);
        } catch (error) {
            setState((before) => before && { ...before, error: error as CliError });
        }
        stop.current = undefined;
        setState((before) => (before?.error === undefined ? undefined : before));
    };
    /** What arrived and is not installed does not stay. */
    const forget = () => {
        stop.current?.abort();
        if (staged.current) void run("update upload", ["--discard"], { admin: true }).catch(() => undefined);
        staged.current = false;
    };
    const busy = state !== undefined && state.error === undefined;
    return { go, busy, error: state?.error, staged, progress: state, cancel: () => stop.current?.abort(), forget };
}

/** Shows what the source, a file on the server or one on this computer has, and installs it. */
export function InstallDialog({ source, onDone, onClose }: {
    source: string | null; onDone: (last: LastUpdate) => void; onClose: () => void;
}): JSX.Element {
    const [path, setPath] = useState("");
    const [file, setFile] = useState<File>();
    const check = useChange("update check", { timeout: CHECK_SECONDS });
    const apply = useChange("update apply", { timeout: INSTALL_SECONDS });
    const [offer, setOffer] = useState<Offer>();
    const [ticked, setTicked] = useState<KernelOption["option"][]>([]);
    const sent = useUpload(setOffer);
    const [reboot, rebootField] = useReboot("update");
    const { go: ask } = check;
    // What the source has is asked for once; a file is chosen first.
    useEffect(() => { if (source !== null) void ask().then(setOffer); }, [source, ask]);
    const from = () => (sent.staged.current ? ["--uploaded"] : path === "" ? [] : [path]);
    const confirm = async () => {
        if (offer === undefined) {
            if (file !== undefined) await sent.go(file); else setOffer(await ask(from()));
            return;
        }
        const last = await apply.go([...from(), "--yes", ...ticked.map((one) => `--${one}`), ...(reboot === undefined ? [] : [`--reboot=${reboot}`])]);
        if (last !== undefined) { sent.staged.current = false; onDone(last); }
    };
    const another = () => { sent.forget(); setOffer(undefined); setTicked([]); setFile(undefined); apply.forget(); };
    const close = () => { sent.forget(); onClose(); };
    const final = offer !== undefined && offer.refusal !== null && offer.needs.length === 0;
    const ready = offer === undefined
        ? source !== null || path !== "" || file !== undefined
        : !final && reboot !== undefined && offer.needs.every(({ option }) => ticked.includes(option));
    return (
        <ConfirmDialog title={offer === undefined ? _("Check for an update") : format(_("Install version $0"), offer.version)}
            action={offer === undefined ? (file === undefined ? _("Check") : _("Upload and check")) : _("Install")} ready={ready}
            busy={check.busy || apply.busy || sent.busy} error={apply.error ?? sent.error ?? check.error}
            onConfirm={() => void confirm()} onClose={close}>
            {check.busy && <Loading what={_("Checking the release")} />}
            {sent.busy && sent.progress !== undefined && (
                <div className="mr-stack">
                    <ProgressEta title={_("Uploading the release")} progress={sent.progress.received / sent.progress.size}
                        detail={format(_("$0 of $1"), bytes(sent.progress.received), bytes(sent.progress.size))} />
                    <div className="mr-actions"><Button variant="secondary" onClick={sent.cancel}>{_("Stop the upload")}</Button></div>
                </div>
            )}
            <Form onSubmit={(event) => event.preventDefault()}>
                {offer === undefined && !sent.busy && (
                    <>
                        <Field id="update-upload" label={_("File on this computer")}
                            help={_("The archive of a release, millrace_VERSION.tar. The server verifies its signature before it takes more.")}>
                            <input id="update-upload" type="file" accept=".tar" aria-describedby="update-upload-said"
                                onChange={(event) => setFile(event.target.files?.[0])} />
                        </Field>
                        <TextField id="update-file" label={_("File or directory on the server")} value={path} onChange={setPath}
                            placeholder="/media/stick/millrace_0.2.0.tar"
                            help={source === null ? _("Such as on a stick. Or change the source of updates first.") : format(_("Without one: $0"), source)} />
                    </>
                )}
                {offer !== undefined && (
                    <>
                        <p>{format(_("Version $0, $1. This server runs $2."), offer.version, bytes(offer.size), offer.running)}</p>
                        {(offer.warnings ?? []).map((warning) => <p key={warning} role="alert">{warning}</p>)}
                        {final && <p role="alert">{offer.refusal}</p>}
                        {offer.needs.map(({ option, reason }) => (
                            <div key={option} role="alert">
                                <p>{reason}</p>
                                <Checkbox id={`update-${option}`} label={allowed(option)} isChecked={ticked.includes(option)}
                                    onChange={(_event, on) => setTicked((before) => (on ? [...before, option] : before.filter((one) => one !== option)))} />
                            </div>
                        ))}
                        <section aria-label={_("What is new")}><pre className="mr-pre">{offer.news}</pre></section>
                        {rebootField}
                        <div className="mr-actions">
                            <Button variant="link" isInline isDisabled={apply.busy} onClick={another}>{_("Choose another release…")}</Button>
                        </div>
                    </>
                )}
            </Form>
        </ConfirmDialog>
    );
}
