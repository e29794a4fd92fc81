// SPDX-License-Identifier: Apache-2.0
import type { Job } from "../types/millrace";
import { _ } from "./i18n";

/** What a job is, for a person. */
export function jobTitle(name: Job["name"]): string {
    switch (name) {
    case "provision": return _("Building the pool");
    case "first synchronisation": return _("Initial synchronisation");
    case "rebuild": return _("Rebuild");
    case "check": return _("Check");
    case "repair": return _("Repair");
    case "reshape": return _("Reshape");
    case "drive change": return _("Change of drives");
    case "drive test": return _("Test of drives");
    case "rescue": return _("Rescue of the pool");
    case "benchmark": return _("Benchmark");
    case "tuner": return _("Tuner");
    default: return name;
    }
}
