// SPDX-License-Identifier: Apache-2.0
/** Pages are loaded when they are opened: a browser does not load all of them before it paints the first one. */
import { lazy, type ComponentType, type LazyExoticComponent } from "react";

/** The connection broke, or the server has another version by now. */
export class NotLoaded extends Error {}

export function page(load: () => Promise<{ default: ComponentType }>): LazyExoticComponent<ComponentType> {
    return lazy(() => load().catch((error: unknown) => { throw new NotLoaded(String(error)); }));
}
