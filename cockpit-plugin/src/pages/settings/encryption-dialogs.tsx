// SPDX-License-Identifier: Apache-2.0
/** Keys of the root file system. The recovery key goes to the program's standard input, never to its command line. */
import { useState, type JSX, type ReactNode } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { Encryption, RecoveryKey } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { ShownOnce } from "../../components/ShownOnce";
import { useChange } from "../../lib/hooks";
import { _ } from "../../lib/i18n";

/** Seconds: a TPM may be slow, and the header is written twice. */
const CHANGE_SECONDS = 180;

interface Ends<T> {
    now: Encryption;
    onDone: (answer: T) => void;
    onClose: () => void;
}

/** A change of the keys; with `asks` it takes the existing recovery key: the TPM opens the root file system during the start only. */
function KeysDialog<V extends "encryption rebind" | "encryption suspend" | "encryption recovery-key">({
    asks = true, verb, options = [], title, action, danger = false, children, onDone, onClose,
}: Ends<Outputs[V]> & { asks?: boolean; verb: V; options?: string[]; title: string; action: string; danger?: boolean; children: ReactNode }): JSX.Element {
    const change = useChange(verb, { timeout: CHANGE_SECONDS });
    const [key, setKey] = useState("");
    const confirm = async () => {
        const answer = await (asks ? change.go([...options, "--key-stdin"], `${key}\n`) : change.go(options));
        if (answer !== undefined) onDone(answer);
    };
    return (
        <ConfirmDialog danger={danger} title={title} action={action} ready={!asks || key.trim() !== ""} busy={change.busy} error={change.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                {children}
                {asks && (
                    <TextField id="recovery-key" type="password" label={_("Present recovery key")} required value={key} onChange={setKey}
                        disabled={change.busy} help={_("Used once and not stored.")} />
                )}
            </Form>
        </ConfirmDialog>
    );
}

export function BindDialog(ends: Ends<Outputs["encryption rebind"]>): JSX.Element {
    return (
        <KeysDialog {...ends} verb="encryption rebind" title={_("Bind the root file system to this TPM again?")} action={_("Bind")}>
            <p>{_("From the next start on, the TPM of this server opens it: for kernel images of the present signing key, with Secure Boot on and its keys of now. An earlier binding ends.")}</p>
        </KeysDialog>
    );
}

export function SuspendDialog(ends: Ends<Outputs["encryption suspend"]>): JSX.Element {
    return (
        <KeysDialog {...ends} danger verb="encryption suspend" title={_("Suspend the check of Secure Boot?")} action={_("Suspend")}>
            <p>{_("For a change of the firmware or of its Secure Boot keys. Until the root file system is bound again, the TPM opens it with Secure Boot off, too.")}</p>
        </KeysDialog>
    );
}

export function RecoveryKeyDialog(ends: Ends<RecoveryKey>): JSX.Element {
    const replaced = ends.now.recovery_key;
    const [atRestart, setAtRestart] = useState(false);
    return (
        <KeysDialog {...ends} verb="encryption recovery-key" asks={replaced && !atRestart} options={atRestart ? ["--at-restart"] : replaced ? ["--new"] : []}
            danger={replaced} title={replaced ? _("Replace the recovery key?") : _("Show the recovery key?")}
            action={atRestart ? _("Make at next start") : replaced ? _("Replace") : _("Show the key")}>
            <p>{_("The key opens the root file system where the TPM does not. It is shown once and stored nowhere: have pen and paper or a password manager ready.")}</p>
            {replaced && !atRestart && <p>{_("The present recovery key is rejected at once.")}</p>}
            <Checkbox id="recovery-key-at-restart" isChecked={atRestart} onChange={(_event, checked) => setAtRestart(checked)}
                label={_("The key is lost")} description={_("The next start of the server makes another recovery key, to be shown here then.")} />
        </KeysDialog>
    );
}

export function KeyShown({ text, onWritten }: { text: string; onWritten: () => void }): JSX.Element {
    return (
        <ShownOnce testId="key-shown" title={_("Write down the recovery key")} label={_("Recovery key")} text={text}
            about={_("The console asks for this key where the TPM does not open the root file system. It is not shown again. Keep it apart from this server.")}
            confirmation={_("I have written it down")} onWritten={onWritten} />
    );
}
