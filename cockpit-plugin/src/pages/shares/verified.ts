// SPDX-License-Identifier: Apache-2.0
/** The last verification of each share while the page is open: it takes seconds and is made on demand. */
import { useSyncExternalStore } from "react";
import type { Share, ShareVerification } from "../../types/millrace";
import type { Level } from "../../components/Health";
import { clock } from "../../lib/format";
import { _, format } from "../../lib/i18n";

export interface Seen {
    result: ShareVerification;
    at: Date;
}

let seen: Readonly<Record<string, Seen>> = {};
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

export function useVerifications(): Readonly<Record<string, Seen>> {
    return useSyncExternalStore(subscribe, () => seen);
}

export function remember(results: ShareVerification[], at = new Date()): void {
    seen = { ...seen, ...Object.fromEntries(results.map((result) => [result.name, { result, at }])) };
    for (const listener of listeners) listener();
}

export function forgetVerifications(): void {
    seen = {};
    for (const listener of listeners) listener();
}

/** Whether a share is served, by its last verification; unknown before the first. */
export function servedState(share: Share, last: Seen | undefined): { level: Level; word: string; why: string | null } {
    if (share.networks.length === 0 && share.smb === null && !share.direct && share.obstacle === null)
        return { level: "UNKNOWN", word: _("Not served"), why: _("NFS and SMB are disabled.") };
    if (last?.result.problem)
        return { level: "FAIL", word: format(_("Not served ($0)"), clock(last.at)), why: last.result.problem };
    if (share.obstacle !== null) return { level: "WARN", word: _("Not served"), why: share.obstacle };
    if (last) {
        const [trouble] = last.result.files;
        return { level: trouble ? "WARN" : "OK", word: format(_("Served, verified at $0"), clock(last.at)), why: trouble ?? null };
    }
    return { level: "UNKNOWN", word: _("Not verified"), why: null };
}
