// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { useStatus } from "../lib/status";

/** What some checks of health complain about: the same words as on Overview. */
export function CheckFindings({ checks }: { checks: readonly string[] }): JSX.Element {
    const findings = useStatus().data?.health.findings.filter(({ check, level }) => checks.includes(check) && level !== "OK") ?? [];
    return (
        <>
            {findings.map(({ sentence, todo, level }) => (
                <Alert key={sentence} isInline variant={level === "FAIL" ? "danger" : "warning"} title={sentence}>{todo}</Alert>
            ))}
        </>
    );
}
