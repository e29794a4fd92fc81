// SPDX-License-Identifier: Apache-2.0
/** The live figures: one `millrace watch` for the whole page, stopped while nobody looks. */
import { useEffect, useSyncExternalStore } from "react";
import type { Outputs } from "../types/outputs";
import { CliError, follow } from "./millrace";
import { useMay } from "./permission";

export type Sample = Outputs["watch"];

export interface Live {
    /** The last samples, oldest first, one a second. */
    samples: Sample[];
    /** Why no samples come; it is tried again by itself. */
    error: CliError | undefined;
}

/** Samples that a chart shows. */
export const SHOWN = 60;
const RETRY_SECONDS = 5;

let live: Live = { samples: [], error: undefined };
let running: AbortController | undefined;
// What SMB clients do is told to root only; null until it is known whether this session may ask as root.
let admin: boolean | null = null;
let retry: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function say(next: Live): void {
    live = next;
    for (const listener of listeners) listener();
}

function start(): void {
    if (running !== undefined || listeners.size === 0 || cockpit.hidden || admin === null) return;
    const mine = new AbortController();
    running = mine;
    clearTimeout(retry);
    const ended = (error: CliError | undefined) => {
        if (running !== mine) return;
        running = undefined;
        if (error !== undefined) say({ ...live, error });
        retry = setTimeout(start, RETRY_SECONDS * 1000);
    };
    follow("watch", [], (sample) => {
        if (running === mine) say({ samples: [...live.samples, sample].slice(-SHOWN), error: undefined });
    }, { signal: mine.signal, admin }).then(() => ended(undefined), ended);
}

function stop(): void {
    clearTimeout(retry);
    running?.abort();
    running = undefined;
    // A gap in time is no line in a chart.
    live = { samples: [], error: undefined };
}

function visibility(): void {
    if (cockpit.hidden) stop(); else start();
}

function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    if (listeners.size === 1) cockpit.addEventListener("visibilitychange", visibility);
    start();
    return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        cockpit.removeEventListener("visibilitychange", visibility);
        stop();
    };
}

function ask(as: boolean | null): void {
    if (as === admin) return;
    admin = as;
    stop();
    start();
}

export function useLive(): Live {
    const allowed = useMay("viewer");
    useEffect(() => ask(allowed), [allowed]);
    return useSyncExternalStore(subscribe, () => live);
}
