// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { bytes, percent } from "../lib/format";
import { _, format } from "../lib/i18n";
import "./parts.css";

/** How much of something is taken; `soft` (bytes) marks where the server starts to complain. Null: nobody counted. */
export function Usage({ label, used, size, soft }: {
    label: string; used: number | null; size: number | null; soft?: number | null;
}): JSX.Element {
    if (used === null || size === null || size <= 0) {
        return <span>{used === null ? _("unknown") : format(_("$0, no limit"), bytes(used))}</span>;
    }
    const share = Math.min(1, used / size);
    const tone = share >= 0.95 ? "fail" : share >= 0.85 || (soft && used >= soft) ? "warn" : "plain";
    const said = format(_("$0 of $1 ($2)"), bytes(used), bytes(size), percent(share));
    return (
        <div className={`mr-usage mr-usage-${tone}`}>
            <div className="mr-usage-bar" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={size} aria-valuenow={used}
                aria-valuetext={said}>
                <div style={{ inlineSize: `${share * 100}%` }} />
            </div>
            <span>{said}</span>
        </div>
    );
}
