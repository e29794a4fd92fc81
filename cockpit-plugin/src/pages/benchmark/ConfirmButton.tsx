// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX, type ReactNode } from "react";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { useChange } from "../../lib/hooks";
import type { Verb } from "../../lib/millrace";

/** Seconds: the verbs return when settings are set, or test files are removed. */
const CHANGE_SECONDS = 300;

/** A button for a verb that asks first; `children` say what happens. */
export function ConfirmButton({ verb, args = [], label, title, action, danger = false, isDisabled = false, children, onDone }: {
    verb: Verb; args?: string[];
    /** The button, the question, and the button that answers it. */
    label: string; title: string; action: string;
    danger?: boolean; isDisabled?: boolean; children: ReactNode; onDone: () => void;
}): JSX.Element {
    const [asking, setAsking] = useState(false);
    const change = useChange(verb, { timeout: CHANGE_SECONDS });
    const confirm = async () => {
        if (await change.go(args) === undefined) return;
        setAsking(false);
        onDone();
    };
    return (
        <>
            <AdminButton variant={danger ? "danger" : "secondary"} size="sm" isDisabled={isDisabled}
                onClick={() => { change.forget(); setAsking(true); }}>{label}</AdminButton>
            {asking && (
                <ConfirmDialog title={title} action={action} danger={danger} busy={change.busy} error={change.error}
                    onConfirm={() => void confirm()} onClose={() => setAsking(false)}>
                    {children}
                </ConfirmDialog>
            )}
        </>
    );
}
