// SPDX-License-Identifier: Apache-2.0
/** Keys of the root file system. The recovery key goes to the program's standard input, never to its command line. */
import { useState, type JSX, type ReactNode } from "react";
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

/** A change of the keys; it takes the existing recovery key where the TPM does not open the root file system. */
function KeysDialog<V extends "encryption rebind" | "encryption suspend" | "encryption recovery-key">({
    now, verb, options = [], title, action, danger = false, children, onDone, onClose,
}: Ends<Outputs[V]> & { verb: V; options?: string[]; title: string; action: string; danger?: boolean; children: ReactNode }): JSX.Element {
    const change = useChange(verb, { timeout: CHANGE_SECONDS });
    const [key, setKey] = useState("");
    const required = now.recovery_key && (!now.tpm || !now.bound || now.opened === false);
    const shown = now.recovery_key && (now.opened !== true || required || change.error !== undefined);
    const confirm = async () => {
        // Without a key the TPM is tried alone; the program says so where that does not do.
        const answer = await (now.recovery_key ? change.go([...options, "--key-stdin"], `${key}\n`) : change.go(options));
        if (answer !== undefined) onDone(answer);
    };
    return (
        <ConfirmDialog danger={danger} title={title} action={action} ready={!required || key.trim() !== ""} busy={change.busy} error={change.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                {children}
                {shown && (
                    <TextField id="recovery-key" type="password" label={_("Present recovery key")} required={required} value={key} onChange={setKey}
                        disabled={change.busy} help={required ? _("Used once and not stored.") : _("Only where the TPM does not open the root file system. Used once and not stored.")} />
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
    return (
        <KeysDialog {...ends} verb="encryption recovery-key" options={replaced ? ["--new"] : []} danger={replaced}
            title={replaced ? _("Replace the recovery key?") : _("Make a recovery key?")} action={replaced ? _("Replace") : _("Make the key")}>
            <p>{_("The key opens the root file system where the TPM does not. It is shown once and stored nowhere: have pen and paper or a password manager ready.")}</p>
            {replaced && <p>{_("The present recovery key is rejected at once.")}</p>}
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
