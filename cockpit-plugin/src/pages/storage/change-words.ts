// SPDX-License-Identifier: Apache-2.0
import type { ChangedDrive, ChangeProgress, DrivePlan } from "../../types/millrace";
import { bytes } from "../../lib/format";
import { _, format } from "../../lib/i18n";

export type ChangeVerb = DrivePlan["verb"];

/** `stopped` can go on, `failed` has ended. */
export type ChangeState = "none" | "running" | "stopped" | "done" | "failed";

export function changeState(last: ChangeProgress | null | undefined): ChangeState {
    if (!last) return "none";
    const { ended, error } = last.change;
    if (ended === null) return error === null ? "running" : "stopped";
    return error === null ? "done" : "failed";
}

export function named({ serial, bay }: { serial: string; bay: string | null }): string {
    return bay === null ? format(_("drive $0"), serial) : format(_("drive $0 (bay $1)"), serial, bay);
}

/** A sentence may begin with a drive. */
function begins(sentence: string): string {
    return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

export function about(drive: ChangedDrive): string {
    return [drive.serial, drive.bay === null ? _("unknown bay") : format(_("bay $0"), drive.bay), drive.model, drive.size === null ? "" : bytes(drive.size)]
        .filter(Boolean).join(", ");
}

export function changeTitle({ verb, old, new: fresh }: DrivePlan): string {
    if (verb === "grow") return _("Growth of the pool");
    if (old && fresh) return format(_("Replacement of $0 by $1"), named(old), named(fresh));
    if (fresh) return format(_("Addition of $0 as a hot spare"), named(fresh));
    return format(_("Removal of $0"), old ? named(old) : "");
}

/** How a change ended that was done. */
export function changeResult({ verb, old, new: fresh, leaves, gain, legs }: DrivePlan): string {
    if (verb === "grow")
        return format(legs.length > 0 ? _("After a restart of the server the pool has $0 more.") : _("The pool has $0 more."), bytes(gain));
    if (old && fresh) {
        const done = begins(format(_("$0 has replaced $1."), named(fresh), named(old)));
        return leaves.length === 0 ? done : `${done} ${format(_("Pull $0 now."), named(old))}`;
    }
    if (fresh) return begins(format(_("$0 is a hot spare."), named(fresh)));
    return format(_("Pull $0 now."), old ? named(old) : "");
}

/** A step by its name in the journal: a word, and the drive or the array that it is about. */
export function stepWord(step: string | null): string {
    if (step === null) return _("finishing");
    const [word, of] = [step.split(" ", 1)[0] ?? "", step.slice(step.indexOf(" ") + 1)];
    switch (word) {
    case "partition": return format(_("partition drive $0"), of);
    case "join": return format(_("add the new drive to array $0"), of);
    case "rebuild": return format(_("rebuild array $0"), of);
    case "leave": return format(_("remove the old drive from array $0"), of);
    case "enlarge": return format(_("enlarge the partition of drive $0"), of);
    case "grow": return format(_("grow array $0"), of);
    case "filesystem": return _("grow the file system");
    case "record": return _("record the members");
    default: return step;
    }
}
