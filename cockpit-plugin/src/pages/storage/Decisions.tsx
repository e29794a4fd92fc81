// SPDX-License-Identifier: Apache-2.0
/** Every decision of the plan with its reason, where it comes from, and what else was considered. */
import { useState, type JSX } from "react";
import { ExpandableSection } from "@patternfly/react-core/dist/esm/components/ExpandableSection/index.js";
import type { Decision } from "../../types/millrace";
import { Key } from "../../components/Key";
import { Panel } from "../../components/Panel";
import { number } from "../../lib/format";
import { _, format, ngettext } from "../../lib/i18n";

/** A value as the program gives it, for reading. */
export function valueText(value: unknown): string {
    if (value === null || value === undefined) return _("none");
    if (typeof value === "boolean") return value ? _("yes") : _("no");
    if (typeof value === "number") return number(value, 2);
    if (Array.isArray(value)) return value.length === 0 ? _("none") : value.map(valueText).join(", ");
    if (typeof value === "object") return Object.entries(value).map(([key, one]) => `${key}: ${valueText(one)}`).join(", ");
    return String(value as string);
}

export function Decisions({ decisions }: { decisions: Decision[] }): JSX.Element {
    return (
        <Panel title={format(ngettext("$0 decision, with reason", "$0 decisions, with reasons", decisions.length), decisions.length)} testId="decisions">
            <ul className="mr-decisions">
                {decisions.map((one) => (
                    <li key={one.name} data-decision={one.name}>
                        <Key name={one.name} />
                        <div>
                            <strong>{valueText(one.value)}</strong>
                            <p>{one.reason}</p>
                            <small className="mr-subtle">{format(_("Source: $0"), one.source)}</small>
                            {one.considered.length > 0 && <Considered choices={one.considered} />}
                        </div>
                    </li>
                ))}
            </ul>
        </Panel>
    );
}

function Considered({ choices }: { choices: Decision["considered"] }): JSX.Element {
    const [open, setOpen] = useState(false);
    const columns = Object.keys(choices[0] ?? {});
    return (
        <ExpandableSection isExpanded={open} onToggle={(_event, now) => setOpen(now)}
            toggleText={format(ngettext("$0 candidate compared", "$0 candidates compared", choices.length), choices.length)}>
            <div className="mr-scroll">
                <table className="mr-table">
                    <thead><tr>{columns.map((one) => <th key={one} scope="col">{one.replaceAll("_", " ")}</th>)}</tr></thead>
                    <tbody>{choices.map((choice) => (
                        <tr key={JSON.stringify(choice)}>{columns.map((one) => <td key={one}>{valueText(choice[one])}</td>)}</tr>
                    ))}</tbody>
                </table>
            </div>
        </ExpandableSection>
    );
}
