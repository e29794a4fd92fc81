// SPDX-License-Identifier: Apache-2.0
/** Certificates, pasted as PEM text. What they are is judged by the program. */
import type { JSX } from "react";
import { TextArea } from "@patternfly/react-core/dist/esm/components/TextArea/index.js";
import { _ } from "../lib/i18n";
import { Field } from "./Field";

/** Bytes; the program takes no more. */
const LARGEST = 1 << 20;

/** What is wrong with a text that cannot hold a certificate. */
export function pemProblem(text: string): string | undefined {
    if (text === "") return undefined;
    if (text.length > LARGEST) return _("larger than 1 MiB; not a certificate");
    return text.includes("-----BEGIN CERTIFICATE-----") ? undefined
        : _("no line “-----BEGIN CERTIFICATE-----” found; use a file in PEM format");
}

export function PemField({ id, label, help, rows, value, onChange }: {
    id: string; label: string; help: string; rows: number; value: string; onChange: (text: string) => void;
}): JSX.Element {
    const problem = pemProblem(value);
    return (
        <Field id={id} label={label} problem={problem} help={help}>
            <TextArea id={id} className="mr-pem" value={value} rows={rows} spellCheck={false} autoComplete="off" aria-describedby={`${id}-said`}
                validated={problem === undefined ? "default" : "error"} onChange={(_event, typed) => onChange(typed)} />
        </Field>
    );
}
