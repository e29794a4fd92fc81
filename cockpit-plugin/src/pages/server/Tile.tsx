// SPDX-License-Identifier: Apache-2.0
import type { JSX, ReactNode } from "react";
import ExclamationTriangleIcon from "@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon";
import type { Severity } from "../../types/millrace";

/** Something that can be chosen to read more about it. `label` is all of it in words. */
export function Tile({ label, kind, tone, chosen, choose, worst, gone = false, testId, children }: {
    label: string; kind: "drive" | "port"; tone: number | "port"; chosen: boolean; choose: () => void; worst?: Severity | undefined; gone?: boolean;
    testId: string; children: ReactNode;
}): JSX.Element {
    const classes = ["mr-tile", `mr-tile-${kind}`, `mr-tone-${tone}`, gone ? "mr-gone" : "", worst ? `mr-worst-${worst}` : ""];
    return (
        <button type="button" className={classes.filter(Boolean).join(" ")} aria-pressed={chosen} aria-label={label} onClick={choose} data-testid={testId}>
            {worst && worst !== "info" && <span className="mr-mark" aria-hidden="true"><ExclamationTriangleIcon /></span>}
            {children}
        </button>
    );
}

const ORDER: Severity[] = ["info", "warn", "fail"];

export function worstOf(findings: { severity: Severity }[]): Severity | undefined {
    return findings.map(({ severity }) => severity).sort((a, b) => ORDER.indexOf(b) - ORDER.indexOf(a))[0];
}
