// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { HealthFinding } from "../types/millrace";
import { _ } from "../lib/i18n";
import { asLevel, LevelIcon, levelWord, type Level } from "./Health";

/** The worst first, as a person wants to read it; what nobody could look at comes before what is merely not good. */
const ORDER: Level[] = ["FAIL", "UNKNOWN", "WARN", "OK"];

export function worstFirst(findings: readonly HealthFinding[]): HealthFinding[] {
    return [...findings].sort((a, b) => ORDER.indexOf(asLevel(a.level)) - ORDER.indexOf(asLevel(b.level)));
}

/** What the checks of health found, each with what to do. */
export function HealthFindings({ findings }: { findings: readonly HealthFinding[] }): JSX.Element {
    return (
        <ul className="mr-findings" aria-label={_("Findings")}>
            {findings.map((one) => <Finding key={`${one.check} ${one.sentence}`} finding={one} />)}
        </ul>
    );
}

function Finding({ finding }: { finding: HealthFinding }): JSX.Element {
    const level = asLevel(finding.level);
    return (
        <li data-check={finding.check} data-level={level}>
            <LevelIcon level={level} />
            <div>
                <span className="pf-v6-screen-reader">{levelWord(level)}: </span>
                {finding.sentence}
                {finding.todo && <div className="mr-todo"><strong>{_("What to do:")}</strong> {finding.todo}</div>}
            </div>
        </li>
    );
}
