// SPDX-License-Identifier: Apache-2.0
/** The code of an authenticator app: a secret, one code to prove it, and the recovery codes, which are shown once. */
import { useEffect, useState, type JSX } from "react";
import { QRCodeSVG } from "qrcode.react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { CopyBlock } from "../../components/CopyBlock";
import { TextField } from "../../components/Field";
import { ShownOnce } from "../../components/ShownOnce";
import { ErrorAlert, Loading } from "../../components/States";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";

interface Ends {
    name: string;
    onDone: (sentence: string) => void;
    onClose: () => void;
}

const QR_PIXELS = 200;
const SIX_DIGITS = /^\d{3} ?\d{3}$/;

function CodeField({ code, onChange }: { code: string; onChange: (code: string) => void }): JSX.Element {
    return (
        <TextField id="code" required label={_("Code")} value={code} onChange={onChange} placeholder="123456"
            help={_("The six digits that the app shows now.")} />
    );
}

export function EnrollDialog({ name, onDone, onClose }: Ends): JSX.Element {
    const { go: begin, error: refused } = useChange("access second-factor enroll");
    const verify = useChange("access second-factor confirm");
    const [secret, setSecret] = useState<{ secret: string; uri: string }>();
    const [code, setCode] = useState("");
    const [codes, setCodes] = useState<string[]>();
    useEffect(() => {
        void begin([name]).then((report) => setSecret(report));
    }, [begin, name]);
    if (codes !== undefined)
        return <CodesShown codes={codes} onWritten={() => onDone(format(_("$0 signs in with a code from now on."), name))} />;
    const confirm = async () => {
        const report = await verify.go([name, "--code-stdin"], `${code}\n`);
        if (report !== undefined) setCodes(report.codes);
    };
    return (
        <ConfirmDialog title={format(_("Second factor of $0"), name)} action={_("Turn on")} ready={secret !== undefined && SIX_DIGITS.test(code.trim())}
            busy={verify.busy} error={verify.error} onConfirm={() => void confirm()} onClose={onClose}>
            <ErrorAlert error={refused} />
            {secret === undefined && refused === undefined && <Loading what={_("Making a secret")} />}
            {secret !== undefined && (
                <Form onSubmit={(event) => event.preventDefault()}>
                    <p>{_("Scan this code with an authenticator app (TOTP), or enter the secret in it, then the code that the app shows. Nothing changes before the code was verified.")}</p>
                    {/* cameras need the margin, and dark on light in both themes */}
                    <QRCodeSVG value={secret.uri} size={QR_PIXELS} marginSize={4} title={format(_("QR code with the secret of $0"), name)} role="img" />
                    <CopyBlock label={_("Secret")} text={secret.secret} />
                    <p><a href={secret.uri}>{_("Open it in an app on this device")}</a></p>
                    <CodeField code={code} onChange={setCode} />
                </Form>
            )}
        </ConfirmDialog>
    );
}

function CodesShown({ codes, onWritten }: { codes: string[]; onWritten: () => void }): JSX.Element {
    return (
        <ShownOnce testId="codes-shown" title={_("Write down the recovery codes")} label={_("Recovery codes")} text={codes.join("\n")}
            about={_("Each of them replaces one code, once, where the app is lost. They are not shown again.")}
            confirmation={_("I have written them down")} onWritten={onWritten} />
    );
}

/** One's own needs a code: a session that was left open does not suffice. */
export function RemoveFactor({ name, own, onDone, onClose }: Ends & { own: boolean }): JSX.Element {
    const [code, setCode] = useState("");
    const remove = useChange("access second-factor remove");
    const confirm = async () => {
        const report = await (own ? remove.go([name, "--code-stdin"], `${code}\n`) : remove.go([name, "--yes"]));
        if (report !== undefined) onDone(format(_("$0 signs in without a code."), name));
    };
    return (
        <ConfirmDialog danger title={format(_("Let $0 sign in without a code?"), name)} action={_("Turn off")} ready={!own || SIX_DIGITS.test(code.trim())}
            busy={remove.busy} error={remove.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <p>{_("The secret and the recovery codes end.")}</p>
                {own && <CodeField code={code} onChange={setCode} />}
            </Form>
        </ConfirmDialog>
    );
}
