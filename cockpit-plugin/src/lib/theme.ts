// SPDX-License-Identifier: Apache-2.0
/**
 * Light or dark as chosen in Cockpit's session menu, set before the first paint and whenever it changes. By hand: Cockpit's
 * pkg/lib, which has the same, is LGPL-2.1-or-later and would be bundled.
 */

const STYLE = "shell:style";
const DARK = "pf-v6-theme-dark";

function wanted(chosen: string | null): boolean {
    return chosen === "dark" || (chosen !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
}

function apply(chosen: string | null = localStorage.getItem(STYLE)): void {
    document.documentElement.classList.toggle(DARK, wanted(chosen));
}

export function followTheme(): void {
    apply();
    window.addEventListener("storage", (event) => { if (event.key === STYLE) apply(); });
    window.addEventListener("cockpit-style", (event) => apply((event as CustomEvent<{ style: string }>).detail.style));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply());
}
