// SPDX-License-Identifier: Apache-2.0
/** The runs that a person picks from, as options of `millrace bench start`. */
import { _ } from "../../lib/i18n";

export interface Preset {
    id: "quick" | "training" | "checkpoint" | "full";
    title: string;
    about: string;
    words: string[];
}

export function presets(): Preset[] {
    return [
        { id: "quick", title: _("Quick"), about: _("Every layer with the five basic loads, three short repeats of each."), words: ["--quick"] },
        {
            id: "training",
            title: _("Training"),
            about: _("What data loaders do: large volumes and small pictures, and how many accelerators that keeps busy."),
            words: ["--quick", "--profile=unet3d", "--profile=retinanet"],
        },
        {
            id: "checkpoint",
            title: _("Checkpoints"),
            about: _("A model saved and loaded as training does it, and commits of small blocks."),
            words: ["--quick", "--profile=checkpoint", "--profile=fsync"],
        },
        { id: "full", title: _("Full"), about: _("Every load on every layer, each drive alone, five long repeats: for a report."), words: ["--full"] },
    ];
}
