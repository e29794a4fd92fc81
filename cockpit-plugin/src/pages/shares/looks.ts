// SPDX-License-Identifier: Apache-2.0
/** What was last seen of each share, for as long as the page is open: a look takes seconds and is made on demand. */
import { useSyncExternalStore } from "react";
import type { Look, Share } from "../../types/millrace";
import type { Level } from "../../components/Health";
import { clock } from "../../lib/format";
import { _, format } from "../../lib/i18n";

export interface Seen {
    look: Look;
    at: Date;
}

let seen: Readonly<Record<string, Seen>> = {};
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

export function useLooks(): Readonly<Record<string, Seen>> {
    return useSyncExternalStore(subscribe, () => seen);
}

export function remember(looks: Look[], at = new Date()): void {
    seen = { ...seen, ...Object.fromEntries(looks.map((look) => [look.name, { look, at }])) };
    for (const listener of listeners) listener();
}

export function forgetLooks(): void {
    seen = {};
    for (const listener of listeners) listener();
}

/** Whether a share is served, as far as anybody looked: what nobody looked at is not known. */
export function servedState(share: Share, last: Seen | undefined): { level: Level; word: string; why: string | null } {
    if (share.networks.length === 0 && share.smb === null && share.obstacle === null)
        return { level: "UNKNOWN", word: _("Not served"), why: _("NFS and SMB are disabled.") };
    if (last?.look.problem)
        return { level: "FAIL", word: format(_("Not served ($0)"), clock(last.at)), why: last.look.problem };
    if (share.obstacle !== null) return { level: "WARN", word: _("Not served"), why: share.obstacle };
    if (last) return { level: "OK", word: format(_("Served, verified at $0"), clock(last.at)), why: null };
    return { level: "UNKNOWN", word: _("Not verified"), why: null };
}
