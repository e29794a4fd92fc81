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

export function stateWord({ state, schedule }: Light): string {
    switch (state) {
    case "ok": return _("In time");
    case "late": return _("Late");
    case "failed": return _("Failed");
    case "running": return _("Running");
    case "none": return schedule === null ? _("Not set up") : _("No copy yet");
    }
}
