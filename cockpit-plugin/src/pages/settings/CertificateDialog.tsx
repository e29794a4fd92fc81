// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { CertificateChange } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { Field } from "../../components/Field";
import { PemField, pemProblem } from "../../components/PemField";
import { useChange } from "../../lib/hooks";
import { _ } from "../../lib/i18n";

/** A certificate of one's own, from files or pasted. The key goes to the program's standard input and nowhere else. */
export function CertificateDialog({ onDone, onClose }: { onDone: (report: CertificateChange) => void; onClose: () => void }): JSX.Element {
    const [text, setText] = useState("");
    const install = useChange("certificate install");
    const take = async (files: FileList | null) => {
        const texts = await Promise.all([...files ?? []].map((one) => one.text()));
        setText((before) => [before, ...texts].filter(Boolean).join("\n"));
    };
    const confirm = async () => {
        const report = await install.go(["-"], text);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog title={_("Install a certificate")} action={_("Install")} ready={text !== "" && pemProblem(text) === undefined} busy={install.busy}
            error={install.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <Field id="pem-files" label={_("From files")} help={_("Certificate, intermediate certificates and private key.")}>
                    <input id="pem-files" type="file" multiple accept=".pem,.crt,.cer,.key" aria-describedby="pem-files-said"
                        onChange={(event) => void take(event.target.files)} />
                </Field>
                <PemField id="pem" label={_("Or paste as text")} rows={8} value={text} onChange={setText}
                    help={_("No key is needed for a certificate issued from the last signing request.")} />
                <p>{_("The web console restarts with the new certificate. Reconnect when this page prompts for it.")}</p>
            </Form>
        </ConfirmDialog>
    );
}
