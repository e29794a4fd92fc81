// SPDX-License-Identifier: Apache-2.0
/** What the server kept over time, as charts need it. */
import type { HistoryReport, HistorySeries } from "../types/millrace";
import { bytes, latency, timeOf, number, operations, percent, rate, UNKNOWN } from "./format";
import { useVerb, type Result } from "./hooks";
import { _ } from "./i18n";

export const SPANS = ["1h", "24h", "7d", "30d", "365d"] as const;
export type Span = (typeof SPANS)[number];

/** Seconds: as often as a value is kept. */
const EVERY = 60;
const DAY = 86400;

export function spanWord(span: Span): string {
    switch (span) {
    case "1h": return _("Last hour");
    case "24h": return _("Last day");
    case "7d": return _("Last week");
    case "30d": return _("Last month");
    case "365d": return _("Last year");
    }
}

/** Series of these kinds; what is kept longer than a day is shown to administrators only. */
export function useHistory(kinds: readonly string[], span: Span): Result<HistoryReport> {
    return useVerb("history", [...kinds, "--since", span], { admin: "allowed", every: EVERY });
}

export function seriesOf(report: HistoryReport | undefined, name: string, of = ""): HistorySeries | undefined {
    return report?.series.find((one) => one.name === name && one.of === of);
}

export function valueWord(value: number | null | undefined, unit: HistorySeries["unit"]): string {
    switch (unit) {
    case "bytes": return bytes(value);
    case "bytes/s": return rate(value);
    case "operations/s": return operations(value);
    case "seconds": return latency(value);
    case "ratio": return percent(value);
    case "celsius": return value === null || value === undefined ? UNKNOWN : `${number(value)} °C`;
    }
}

/** Four times of the span, as a clock or as days. */
export function timeTicks({ since, at }: HistoryReport): { at: number; text: string }[] {
    const days = at - since > 2 * DAY;
    return [0, 1, 2, 3].map((part) => {
        const when = since + ((at - since) * part) / 3;
        return { at: when, text: timeOf(when, days) };
    });
}
