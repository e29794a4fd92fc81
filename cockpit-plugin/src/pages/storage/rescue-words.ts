// SPDX-License-Identifier: Apache-2.0
/** The texts of the rescue steps: what each does, and what may be lost. */
import type { RescueState, ShownStep } from "../../types/millrace";
import { _, format } from "../../lib/i18n";

export type StepName = ShownStep["name"];

export function stepTitle(name: StepName): string {
    switch (name) {
    case "stop": return _("Stop serving and unmount the pool");
    case "image": return _("Save an image of the metadata");
    case "judge": return _("Show what can be read without the log");
    case "log": return _("Make a new log");
    case "repair": return _("Repair the file system without the lost log");
    case "serve": return _("Mount, verify and serve the pool");
    }
}

export function stepExplanation(name: StepName): string {
    switch (name) {
    case "stop": return _("NFS, SMB and everything else that uses the pool are stopped, then it is unmounted. Nothing is forced. Clients wait, or get errors, until the last step.");
    case "image": return _("The metadata as they are now (names, sizes, places; no contents of files) are copied to a file, for a specialist if the repair goes wrong. Only root can read it.");
    case "judge": return _("The pool is mounted read-only, without replaying a log: files are counted, and xfs_repair -n reports what it would change. Nothing is written. What was changed last may not be readable yet.");
    case "log": return _("A new mirror is made for the log. Nothing of the file system is written. From here on it is not mounted at a boot until it is repaired. If a drive of the lost log comes back before the next step, the rescue ends and that log is used.");
    case "repair": return _("The new log becomes that of the pool, and xfs_repair -L makes the metadata consistent without the lost one. This cannot be undone: from here on the drives of the lost log are of no use, and what was only in it is lost. It takes minutes to hours, by the number of files. If it is interrupted, it begins again.");
    case "serve": return _("The pool is mounted, which counts quotas again and may take a while, then verified and served.");
    }
}

/** What may still fail at a step, and what then. */
export function stepRisk(name: StepName): string | undefined {
    switch (name) {
    case "stop": return _("It fails while a session on the server uses a directory of the pool.");
    case "image": return _("It fails where the directory has too little room. Choose a file on another file system, or go on without an image.");
    case "log": return _("It fails where there are not two free log partitions and no blank drives were chosen, or where a drive holds something else.");
    case "repair": return _("It fails where a drive of the data cannot be read, or with too little memory. The pool stays unmounted then. Keep the image and ask for help if it fails twice.");
    default: return undefined;
    }
}

export function losses(): string[] {
    return [
        _("Changes to files and directories that were only in the log are lost: those of the last minute before the failure, longer under constant writes."),
        _("Files that were created, renamed, deleted or written in that time may be missing, damaged, there again, or in lost+found without their names. This includes writes that were acknowledged to clients (fsync)."),
        _("The contents of older files that were not changed in that time are not touched."),
    ];
}

export function happened(state: RescueState): string {
    return format(_("The log was on a mirror of $0, and no side of it is left. Without a log XFS shuts down and cannot be mounted. If one of these drives may come back, put it in first: then nothing is lost."), state.lost_drives.join(", "));
}

/** What is to be done after the last step. */
export function afterwards(state: RescueState): string[] {
    const orphans = state.journal?.orphans ?? 0;
    const image = state.journal?.image ?? null;
    return [
        ...(orphans > 0 ? [_("Look through lost+found of the pool: files are named by their inode numbers there.")] : []),
        _("Compare what was written in the last minutes with its source. Write it again where it differs."),
        _("Check all arrays and the file system, below on this page."),
        ...(image !== null ? [format(_("Keep $0 until everything was checked, then delete it."), image)] : []),
        _("Drives of the lost log that come back are not used: erase them in the list of drives."),
    ];
}
