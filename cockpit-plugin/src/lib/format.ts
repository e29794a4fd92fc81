// SPDX-License-Identifier: Apache-2.0
/** Figures for a person. What is not known is a dash, never a zero. */
import { _, format, locale, ngettext } from "./i18n";

export const UNKNOWN = "–";
type Maybe = number | null | undefined;

const known = (value: Maybe): value is number => value !== null && value !== undefined && Number.isFinite(value);

function scaled(value: number, base: number, units: string[]): string {
    let power = 0;
    while (Math.abs(value) >= base ** (power + 1) && power < units.length - 1) power += 1;
    let shown = value / base ** power;
    // 999.96 kB is 1 MB, not 1000 kB
    if (Number(shown.toPrecision(3)) >= base && power < units.length - 1) { power += 1; shown = value / base ** power; }
    const digits = power === 0 || shown >= 100 ? 0 : shown >= 10 ? 1 : 2;
    const text = new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(shown);
    return `${text}\u00a0${units[power] ?? ""}`;
}

/** 61 TB: decimal, as drives are sold. */
export function bytes(value: Maybe): string {
    return known(value) ? scaled(value, 1000, ["B", "kB", "MB", "GB", "TB", "PB", "EB"]) : UNKNOWN;
}

/** 55.9 TiB: binary, as clients show it. */
export function binary(value: Maybe): string {
    return known(value) ? scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]) : UNKNOWN;
}

/** 12.3 GB/s */
export function rate(value: Maybe): string {
    return known(value) ? `${bytes(value)}/s` : UNKNOWN;
}

/** 1234 per second */
export function operations(value: Maybe): string {
    return known(value) ? format(_("$0/s"), number(Math.round(value))) : UNKNOWN;
}

export function number(value: Maybe, digits = 0): string {
    return known(value) ? new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value) : UNKNOWN;
}

/** A share of 1. */
export function percent(value: Maybe, digits = 0): string {
    return known(value)
        ? new Intl.NumberFormat(locale(), { style: "percent", maximumFractionDigits: digits }).format(value)
        : UNKNOWN;
}

/** A gain or a loss as a part of 1: +12.5 %. */
export function change(value: Maybe): string {
    return known(value)
        ? new Intl.NumberFormat(locale(), { style: "percent", maximumFractionDigits: 1, signDisplay: "exceptZero" }).format(value)
        : UNKNOWN;
}

/** 350 µs, 1.2 ms */
export function latency(seconds: Maybe): string {
    if (!known(seconds)) return UNKNOWN;
    if (seconds < 0.001) return `${number(seconds * 1e6)}\u00a0µs`;
    return seconds < 1 ? `${number(seconds * 1e3, seconds < 0.1 ? 1 : 0)}\u00a0ms` : `${number(seconds, 1)}\u00a0s`;
}

/** In words, in the largest unit that fits: "3 hours", "12 minutes". */
export function duration(seconds: Maybe): string {
    if (!known(seconds)) return UNKNOWN;
    const minutes = Math.round(seconds / 60);
    const hours = Math.round(seconds / 3600);
    const days = Math.round(seconds / 86400);
    if (seconds < 1) return _("less than a second");
    if (seconds < 90) return format(ngettext("$0 second", "$0 seconds", Math.round(seconds)), Math.round(seconds));
    if (minutes < 90) return format(ngettext("$0 minute", "$0 minutes", minutes), minutes);
    if (hours < 48) return format(ngettext("$0 hour", "$0 hours", hours), hours);
    return format(ngettext("$0 day", "$0 days", days), days);
}

const DAY = 86400;

/** How long ago it was by the clock of the browser, which may be off by hours; unknown if it is yet to come. */
export function age(when: string): string {
    const seconds = (Date.now() - Date.parse(when)) / 1000;
    return duration(seconds > -DAY ? Math.max(seconds, 0) : null);
}

/** A day, as 2026-11-22. */
export function day(when: string): string {
    // UTC at both ends: it is the same day everywhere.
    const date = new Date(`${when}T00:00:00Z`);
    return Number.isNaN(date.getTime())
        ? UNKNOWN
        : new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeZone: "UTC" }).format(date);
}

/** Date and time of an ISO 8601 text or of seconds since 1970. */
export function moment(when: string | number | Date | null | undefined): string {
    if (when === null || when === undefined) return UNKNOWN;
    const date = new Date(typeof when === "number" ? when * 1000 : when);
    return Number.isNaN(date.getTime())
        ? UNKNOWN
        : new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(date);
}

export function clock(when: Date): string {
    return new Intl.DateTimeFormat(locale(), { timeStyle: "medium" }).format(when);
}

/** A time of the scale of a chart, in seconds since 1970: as a day, or as a clock without seconds. */
export function timeOf(seconds: number, asDay: boolean): string {
    return new Intl.DateTimeFormat(locale(), asDay ? { day: "numeric", month: "short" } : { hour: "numeric", minute: "2-digit" })
        .format(new Date(seconds * 1000));
}
