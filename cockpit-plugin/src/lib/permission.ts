// SPDX-License-Identifier: Apache-2.0
/** Whether this session may change anything. By hand: Cockpit's pkg/lib is LGPL-2.1-or-later and would be bundled. */
import { useSyncExternalStore } from "react";

let permission: cockpit.Permission | undefined;

function shared(): cockpit.Permission {
    permission ??= cockpit.permission({ admin: true });
    return permission;
}

function subscribe(changed: () => void): () => void {
    const source = shared();
    source.addEventListener("changed", changed);
    return () => source.removeEventListener("changed", changed);
}

/** true, false ("Limited access"), or null while nobody knows: then neither buttons nor reasons are shown. */
export function useAdmin(): boolean | null {
    return useSyncExternalStore(subscribe, () => shared().allowed);
}

export function forgetPermission(): void {
    permission?.close();
    permission = undefined;
}
