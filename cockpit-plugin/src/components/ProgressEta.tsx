// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState, type JSX } from "react";
import { Progress } from "@patternfly/react-core/dist/esm/components/Progress/index.js";
import { Spinner } from "@patternfly/react-core/dist/esm/components/Spinner/index.js";
import { duration, percent } from "../lib/format";
import { _, format } from "../lib/i18n";

/** Milliseconds between two announcements to a screen reader. */
const ANNOUNCED = 15_000;

/** How far something is, 0 to 1, and how long it still takes; null where nobody knows, undefined where nobody counts. */
export function ProgressEta({ title, progress, secondsLeft, detail }: {
    title: string; progress: number | null; secondsLeft?: number | null | undefined; detail?: string | undefined;
}): JSX.Element {
    const left = secondsLeft === undefined ? "" : secondsLeft === null ? _("time left unknown") : format(_("$0 left"), duration(secondsLeft));
    const said = [progress === null ? "" : percent(progress, 1), left].filter(Boolean).join(", ");
    const below = [left, detail].filter(Boolean).join(" · ");
    return (
        <div className="mr-progress" data-testid="progress">
            {progress === null
                ? <div className="mr-progress-unknown"><Spinner size="md" aria-label={title} /> <span>{title}</span></div>
                : <Progress value={progress * 100} title={title} label={percent(progress, 1)} measureLocation="top" size="sm"
                    aria-label={title} />}
            {below && <small>{below}</small>}
            <Announced text={said ? `${title}: ${said}` : title} />
        </div>
    );
}

/** `text` for screen readers, not with every change of it. */
function Announced({ text }: { text: string }): JSX.Element {
    const [said, setSaid] = useState(text);
    const last = useRef(Date.now());
    useEffect(() => {
        const wait = Math.max(0, last.current + ANNOUNCED - Date.now());
        const timer = setTimeout(() => { last.current = Date.now(); setSaid(text); }, wait);
        return () => clearTimeout(timer);
    }, [text]);
    return <span className="pf-v6-screen-reader" aria-live="polite">{said}</span>;
}
