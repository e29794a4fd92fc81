// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { Severity } from "../../types/millrace";
import { LevelIcon, type Level } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { _ } from "../../lib/i18n";

const LEVELS: Record<Severity, Level> = { info: "UNKNOWN", warn: "WARN", fail: "FAIL" };
interface Finding { name: string; severity: Severity; subject: string; what: string; todo: string }

/** Everything the audit of the hardware found, also what belongs to no single part. */
export function Findings({ findings }: { findings: Finding[] }): JSX.Element {
    return (
        <Panel title={_("Hardware audit findings")} testId="findings">
            {findings.length === 0 ? <p>{_("No findings that reduce performance or safety.")}</p> : <FindingList findings={findings} />}
        </Panel>
    );
}

export function FindingList({ findings }: { findings: Finding[] }): JSX.Element {
    return (
        <ul className="mr-findings">
            {findings.map((one) => (
                <li key={`${one.name} ${one.subject}`} data-severity={one.severity}>
                    <LevelIcon level={LEVELS[one.severity]} />
                    <div>
                        <span className="pf-v6-screen-reader">{severityWord(one.severity)}: </span>
                        <strong>{one.subject}</strong> {one.what}
                        <div className="mr-todo"><strong>{_("What to do:")}</strong> {one.todo}</div>
                    </div>
                </li>
            ))}
        </ul>
    );
}

function severityWord(severity: Severity): string {
    switch (severity) {
    case "info": return _("Information");
    case "warn": return _("Reduces performance or safety");
    case "fail": return _("Must be fixed");
    }
}
