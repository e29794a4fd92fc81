// SPDX-License-Identifier: Apache-2.0
/** Where the person is: #/storage, #/shares/models?panel=quota. Cockpit keeps it in the address of the whole page. */
import { useSyncExternalStore } from "react";

export interface Route {
    path: readonly string[];
    options: Readonly<Record<string, string | string[]>>;
}

let known: { source: cockpit.Location; route: Route } | undefined;

function current(): Route {
    const source = cockpit.location;
    // cockpit.location is another object after each change, and React wants the same route for the same one.
    if (known?.source !== source) known = { source, route: { path: source.path, options: source.options } };
    return known.route;
}

function subscribe(changed: () => void): () => void {
    cockpit.addEventListener("locationchanged", changed);
    return () => cockpit.removeEventListener("locationchanged", changed);
}

export function useRoute(): Route {
    return useSyncExternalStore(subscribe, current);
}

/** The href of a page: link("shares", "models"). */
export function link(...path: string[]): string {
    return `#${cockpit.location.encode(path)}`;
}

export function go(path: string[], options: Record<string, string> = {}): void {
    cockpit.location.go(path, options);
}
