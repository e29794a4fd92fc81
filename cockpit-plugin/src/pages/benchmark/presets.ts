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
        { id: "quick", title: _("Quick"), about: _("The five basic loads on every layer, three short repeats each."), words: ["--quick"] },
        {
            id: "training",
            title: _("Training"),
            about: _("Data loader workloads with large volumes and small images, and the number of accelerators supported."),
            words: ["--quick", "--profile=unet3d", "--profile=retinanet"],
        },
        {
            id: "checkpoint",
            title: _("Checkpoints"),
            about: _("Saves and loads a model as training does, and commits small blocks."),
            words: ["--quick", "--profile=checkpoint", "--profile=fsync"],
        },
        { id: "full", title: _("Full"), about: _("All loads on every layer and on each drive alone, five long repeats; for reports."), words: ["--full"] },
    ];
}
