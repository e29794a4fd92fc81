// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { Health, HealthFinding } from "../../types/millrace";
import { Verdict, type Level } from "../../components/Health";
import { HealthFindings, worstFirst } from "../../components/HealthFindings";
import { moment } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { link } from "../../lib/route";
import { cameHome } from "../storage/words";

function title(level: Level, findings: HealthFinding[]): string {
    const many = findings.filter((one) => one.level !== "OK").length;
    switch (level) {
    case "OK": return _("Healthy");
    case "WARN": return format(ngettext("$0 finding needs attention", "$0 findings need attention", many), many);
    case "FAIL": return _("Failure detected");
    case "UNKNOWN": return _("Health unknown");
    }
}

export function HealthVerdict({ health, level, hasPool }: { health: Health; level: Level; hasPool: boolean }): JSX.Element {
    const findings = worstFirst(health.findings);
    const open = findings.filter((one) => one.level !== "OK");
    return (
        <Verdict level={level} title={title(level, findings)}>
            {open.length > 0 && <HealthFindings findings={open} />}
            {!hasPool && <ToStorage />}
            {hasPool && open.some(cameHome) && (
                <div><Button variant="primary" component="a" href={link("storage")}>{_("Decide how the pool is served")}</Button></div>
            )}
            <small className="mr-subtle">
                {format(ngettext("$0 check, as of $1", "$0 checks, as of $1", findings.length), findings.length, moment(health.at))}
            </small>
        </Verdict>
    );
}

/** A pool that the drives carry comes before any plan. */
function ToStorage(): JSX.Element {
    const { data } = useVerb("pool found");
    const carried = Boolean(data?.found?.pool) || Boolean(data?.adoption);
    return (
        <div>
            <Button variant="primary" component="a" href={link("storage")}>{carried ? _("Review the pool on the drives") : _("Review the plan")}</Button>
        </div>
    );
}
