// SPDX-License-Identifier: Apache-2.0
import type { Light } from "../../types/millrace";
import { _ } from "../../lib/i18n";

export const KINDS = ["hourly", "daily", "weekly", "monthly"] as const;
export type Kind = (typeof KINDS)[number];

export function kindWord(kind: string): string {
    switch (kind) {
    case "hourly": return _("hourly");
    case "daily": return _("daily");
    case "weekly": return _("weekly");
    case "monthly": return _("monthly");
    case "backup": return _("for a backup");
    case "restored": return _("from a backup");
    default: return _("by hand");
    }
}

export function placeWord(place: Light["place"]): string {
    switch (place) {
    case "here": return _("This server");
    case "second-server": return _("Second server");
    case "off-site": return _("Off site");
    }
}

/** What makes no copy here by itself: it is paused, another server makes it, or nothing was set up. */
function idleWord({ period, place, sentence }: Light): string {
    if (period !== null) return _("Paused");
    // `ABSENT` of tools/millrace/protect/light.py
    return place === "second-server" && !sentence.startsWith("No ") ? _("On the other server") : _("Not set up");
}

export function stateWord(light: Light): string {
    switch (light.state) {
    case "ok": return _("In time");
    case "late": return _("Late");
    case "failed": return _("Failed");
    case "running": return _("Running");
    case "none": return light.schedule === null ? idleWord(light) : _("No copy yet");
    }
}
