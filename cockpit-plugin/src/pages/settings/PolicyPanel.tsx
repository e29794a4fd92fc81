// SPDX-License-Identifier: Apache-2.0
/** The policy: which decisions of Millrace the administrator overrides, and what each key means. */
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { PolicyChanges, PolicyKey, PolicyReport } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { DataTable } from "../../components/DataTable";
import { Done, type Outcome } from "../../components/Done";
import { TextField } from "../../components/Field";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";

/** Seconds: tuning and shares apply a change before the verb ends. */
const SET_SECONDS = 600;

/** A value as the command line takes it; empty where Millrace decides. */
export function typed(value: PolicyKey["value"]): string {
    if (value === null) return "";
    return Array.isArray(value) ? value.join(",") : String(value);
}

/** When a change takes effect. */
export function effect(when: PolicyKey["when"]): string {
    switch (when) {
    case "now": return _("At once");
    case "boot": return _("At the next boot");
    case "new pool": return _("Only in a new pool");
    }
}

export function PolicyPanel(): JSX.Element {
    const found = useVerb("policy show", [], { admin: "allowed" });
    const [open, setOpen] = useState<PolicyKey>();
    const [did, setDid] = useState<Outcome>();
    const changed = ({ changes }: PolicyChanges) => {
        setOpen(undefined);
        const lines = changes.map((one) => `${one.key}: ${typed(one.before) || "-"} → ${typed(one.after) || "-"} (${effect(one.when)})`);
        setDid({ title: changes.length === 0 ? _("Nothing changes.") : _("The policy has been changed."), lines, warnings: [] });
        found.reload();
    };
    return (
        <>
            <Done did={did} onClose={() => setDid(undefined)} />
            <Panel title={_("Policy")} testId="policy">
                <Loaded of={found} what={_("Loading the policy")}>{(report) => <Keys report={report} onChange={setOpen} />}</Loaded>
            </Panel>
            {open !== undefined && <KeyDialog one={open} onDone={changed} onClose={() => setOpen(undefined)} />}
        </>
    );
}

function Keys({ report, onChange }: { report: PolicyReport; onChange: (one: PolicyKey) => void }): JSX.Element {
    const [all, setAll] = useState(false);
    const rows = report.keys.filter((one) => all || one.is_set);
    return (
        <div className="mr-stack">
            <p>{report.file === null ? _("No key is set: Millrace decides.") : format(_("From $0."), report.file)}</p>
            {report.problem !== null && <p role="alert">{report.problem}</p>}
            <Checkbox id="policy-all" label={_("Show all keys")} isChecked={all} onChange={(_event, checked) => setAll(checked)} />
            {rows.length > 0 && (
                <DataTable label={_("Keys of the policy")} rows={rows} rowKey={(one) => one.key} columns={[
                    { title: _("Key"), cell: (one) => <code>{one.key}</code>, heads: true },
                    { title: _("Value"), cell: (one) => typed(one.value) || "-" },
                    { title: _("Meaning"), cell: (one) => <>{one.meaning}{one.range !== "" && <div className="mr-subtle mr-small">{one.range}</div>}</> },
                    { title: _("A change takes effect"), cell: (one) => effect(one.when) },
                    {
                        title: _("Actions"),
                        cell: (one) => (
                            <AdminButton variant="link" isInline aria-label={format(_("Change $0"), one.key)} onClick={() => onChange(one)}>
                                {_("Change")}
                            </AdminButton>
                        ),
                    },
                ]} />
            )}
        </div>
    );
}

/** One key; an empty value leaves the decision to Millrace. */
function KeyDialog({ one, onDone, onClose }: { one: PolicyKey; onDone: (made: PolicyChanges) => void; onClose: () => void }): JSX.Element {
    const [value, setValue] = useState(typed(one.value));
    const set = useChange("policy set", { timeout: SET_SECONDS });
    const confirm = async () => {
        const made = await set.go([`${one.key}=${value.trim() === "" ? "default" : value.trim()}`]);
        if (made !== undefined) onDone(made);
    };
    const takes = one.range === "" ? "" : format(_("Takes $0."), one.range);
    return (
        <ConfirmDialog title={format(_("Change $0"), one.key)} action={_("Change")} ready={value !== typed(one.value)} busy={set.busy} error={set.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <p>{one.meaning}</p>
                <TextField id="policy-value" label={_("Value")} value={value} onChange={setValue}
                    placeholder={typed(one.default)} help={`${takes} ${_("Empty: the default. Commas separate the entries of a list.")}`.trim()} />
                <p>{format(_("Takes effect: $0."), effect(one.when))}</p>
            </Form>
        </ConfirmDialog>
    );
}
