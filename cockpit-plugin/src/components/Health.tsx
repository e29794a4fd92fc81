// SPDX-License-Identifier: Apache-2.0
/** How it is, always as a word and a sign, never as a colour alone. What nobody knows is never green. */
import type { JSX, ReactNode } from "react";
import { Label, type LabelProps } from "@patternfly/react-core/dist/esm/components/Label/index.js";
import { Title } from "@patternfly/react-core/dist/esm/components/Title/index.js";
import CheckCircleIcon from "@patternfly/react-icons/dist/esm/icons/check-circle-icon";
import ExclamationCircleIcon from "@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon";
import ExclamationTriangleIcon from "@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon";
import QuestionCircleIcon from "@patternfly/react-icons/dist/esm/icons/question-circle-icon";
import { _ } from "../lib/i18n";

export type Level = "OK" | "WARN" | "UNKNOWN" | "FAIL";

const SIGNS = {
    OK: CheckCircleIcon,
    WARN: ExclamationTriangleIcon,
    FAIL: ExclamationCircleIcon,
    UNKNOWN: QuestionCircleIcon,
};
const STATUS: Record<Level, NonNullable<LabelProps["status"]> | undefined> = {
    OK: "success",
    WARN: "warning",
    FAIL: "danger",
    UNKNOWN: undefined,
};

/** A level that this page does not know is not known. */
export function asLevel(text: string | null | undefined): Level {
    return text === "OK" || text === "WARN" || text === "FAIL" ? text : "UNKNOWN";
}

export function levelWord(level: Level): string {
    switch (level) {
    case "OK": return _("Healthy");
    case "WARN": return _("Needs attention");
    case "FAIL": return _("Failed");
    case "UNKNOWN": return _("Unknown");
    }
}

export function LevelIcon({ level }: { level: Level }): JSX.Element {
    const Sign = SIGNS[level];
    return <span className={`mr-level mr-level-${level.toLowerCase()}`} aria-hidden="true"><Sign /></span>;
}

/** A level as a small label; `children` replaces the word. */
export function HealthLabel({ level, children }: { level: Level; children?: ReactNode }): JSX.Element {
    const Sign = SIGNS[level];
    const status = STATUS[level];
    const colour = status === undefined ? { color: "grey" as const } : { status };
    return (
        <Label {...colour} variant="outline" isCompact icon={<Sign />} data-level={level}>
            {children ?? levelWord(level)}
        </Label>
    );
}

/** The verdict of a page: one sentence, big, with its sign, and what belongs to it below. */
export function Verdict({ level, title, children, id = "verdict" }: {
    level: Level; title: string; children?: ReactNode; id?: string;
}): JSX.Element {
    return (
        <section className={`mr-verdict mr-verdict-${level.toLowerCase()}`} data-testid={id} data-level={level}
            aria-labelledby={`${id}-title`}>
            <LevelIcon level={level} />
            <div className="mr-verdict-text">
                <Title headingLevel="h2" size="xl" id={`${id}-title`} aria-live="polite">{title}</Title>
                {children}
            </div>
        </section>
    );
}
