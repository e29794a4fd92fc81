// SPDX-License-Identifier: Apache-2.0
/** What this session may do. By hand: Cockpit's pkg/lib is LGPL-2.1-or-later and would be bundled. */
import { useSyncExternalStore } from "react";
import type { Outputs } from "../types/outputs";
import { started, viaSudo } from "./program";

export type Role = NonNullable<Outputs["access who"]["role"]>;

const RANK: Record<Role, number> = { viewer: 0, operator: 1, administrator: 2 };

let permission: cockpit.Permission | undefined;
/** undefined: not asked yet, which only sessions without administrative access are; null: no role. */
let role: Role | null | undefined;
const listeners = new Set<() => void>();

function shared(): cockpit.Permission {
    if (permission === undefined) {
        permission = cockpit.permission({ admin: true });
        permission.addEventListener("changed", changed);
    }
    return permission;
}

function changed(): void {
    if (shared().allowed === false && role === undefined) askRole();
    viaSudo(shared().allowed === false && (role === "operator" || role === "viewer"));
    for (const listener of listeners) listener();
}

/** Operators and viewers start the program as root by sudo, which hands their name to it; it knows what their role allows. */
function askRole(): void {
    role = null;
    const known = (text: string) => {
        try {
            role = (JSON.parse(text) as Outputs["access who"]).role;
        } catch {
            role = null;
        }
        changed();
    };
    started(["access", "who", "--json"], false).then(known, () => undefined);
}

function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    if (shared().allowed === false) changed();
    return () => listeners.delete(listener);
}

/** true, false ("Limited access"), or null while nobody knows: then neither buttons nor reasons are shown. */
export function useAdmin(): boolean | null {
    return useSyncExternalStore(subscribe, () => shared().allowed);
}

/** Whether this session may do what `least` may; null while nobody knows. */
export function useMay(least: Role): boolean | null {
    return useSyncExternalStore(subscribe, () => {
        const { allowed } = shared();
        if (allowed !== false) return allowed;
        // An administrator has to switch to administrative access first.
        return role === "operator" || role === "viewer" ? RANK[role] >= RANK[least] : false;
    });
}

/** The role where it is that of an operator or a viewer. */
export function useLowerRole(): "operator" | "viewer" | undefined {
    return useSyncExternalStore(subscribe, () => (shared().allowed === false && (role === "operator" || role === "viewer") ? role : undefined));
}

export function forgetPermission(): void {
    permission?.close();
    permission = undefined;
    role = undefined;
    viaSudo(false);
}
