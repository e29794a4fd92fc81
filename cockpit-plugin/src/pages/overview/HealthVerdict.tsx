// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { Health, HealthFinding } from "../../types/millrace";
import { asLevel, LevelIcon, levelWord, Verdict, type Level } from "../../components/Health";
import { moment } from "../../lib/format";
import { _, format, ngettext } from "../../lib/i18n";
import { link } from "../../lib/route";

/** The worst first, as a person wants to read it; what nobody could look at comes before what is merely not good. */
const ORDER: Level[] = ["FAIL", "UNKNOWN", "WARN", "OK"];

function title(level: Level, findings: HealthFinding[]): string {
    const many = findings.filter((one) => one.level !== "OK").length;
    switch (level) {
    case "OK": return _("All is well");
    case "WARN": return format(ngettext("$0 thing needs attention", "$0 things need attention", many), many);
    case "FAIL": return _("Something has failed");
    case "UNKNOWN": return _("It is not known whether all is well");
    }
}

export function HealthVerdict({ health, level, hasPool }: { health: Health; level: Level; hasPool: boolean }): JSX.Element {
    const findings = [...health.findings].sort((a, b) => ORDER.indexOf(asLevel(a.level)) - ORDER.indexOf(asLevel(b.level)));
    const open = findings.filter((one) => one.level !== "OK");
    return (
        <Verdict level={level} title={title(level, findings)}>
            {open.length > 0 && (
                <ul className="mr-findings" aria-label={_("What was found")}>
                    {open.map((one) => <Finding key={`${one.check} ${one.sentence}`} finding={one} />)}
                </ul>
            )}
            {!hasPool && (
                <div><Button variant="primary" component="a" href={link("storage")}>{_("Read the plan")}</Button></div>
            )}
            <small className="mr-subtle">
                {format(ngettext("$0 check, as of $1", "$0 checks, as of $1", findings.length), findings.length, moment(health.at))}
            </small>
        </Verdict>
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
