// SPDX-License-Identifier: Apache-2.0
/** Long work of the server: what runs, how far it is, how it ended. It goes on without the pages. */
import { useEffect, useState } from "react";
import type { CurrentJob, JobStatus } from "../types/millrace";
import { _ } from "./i18n";
import { follow } from "./millrace";
import { useStatus } from "./status";

export type JobKind = JobStatus["name"];

/** What a job is, for a person. */
export function jobTitle(name: CurrentJob["name"]): string {
    switch (name) {
    case "provision": return _("Building the pool");
    case "first synchronisation": return _("Initial synchronisation");
    case "rebuild": return _("Rebuild");
    case "check": return _("Check");
    case "repair": return _("Repair");
    case "reshape": return _("Reshape");
    case "drive-change": return _("Change of drives");
    case "drive-test": return _("Test of drives");
    case "erase": return _("Erasure of a drive");
    case "rescue": return _("Rescue of the pool");
    case "revive": return _("Revival of the pool");
    case "adopt": return _("Adoption of the pool");
    case "clone": return _("Clone of a share");
    case "copy": return _("Copy from another server");
    case "snapshot": return _("Snapshot of a share");
    case "replica": return _("Replica of a share");
    case "backup": return _("Backup off site");
    case "permissions": return _("Permissions of a share");
    case "benchmark": return _("Benchmark");
    case "tuner": return _("Tuner");
    case "update-download": return _("Download of an update");
    case "update": return _("Update");
    case "scrub": return _("Checks of the arrays");
    case "damaged-files": return _("Search for damaged files");
    case "unclean": return _("Search after an unclean start");
    case "trim": return _("Trim");
    case "reset": return _("Factory reset");
    case "destroy": return _("Destruction of the pool");
    default: return name;
    }
}

/** What becomes of a job when the server restarts. */
export function afterRestart({ after_boot }: CurrentJob): string {
    switch (after_boot) {
    case "continues": return _("When the server restarts, the job continues.");
    case "continues in its window": return _("When the server restarts, the job continues in its window.");
    case "ends": return _("When the server restarts, the job ends.");
    case "is confirmed again": return _("When the server restarts, the job waits until it is confirmed again.");
    }
}

/** Why nobody can stop a job, in the words of the page: those of the server are English. */
export function whyNot({ name, why }: CurrentJob): string | null {
    switch (why === null ? null : name) {
    case null: return null;
    case "provision": return _("It cannot be stopped: a part of a pool is of no use.");
    case "drive-change": return _("It cannot be stopped: the array would keep less redundancy.");
    case "erase": return _("It cannot be stopped: a drive that was erased in part is of no use.");
    case "rescue": return _("It cannot be stopped: the pool would be left halfway.");
    case "revive": return _("It cannot be stopped: the pool would be left halfway.");
    case "unclean": return _("It cannot be stopped: missing members are added after it. To add them now: millrace pool acknowledge");
    case "adopt": return _("It cannot be stopped: this server would have a part of the state of the pool.");
    case "update": return _("It cannot be stopped: half a version is of no use.");
    case "reset": return _("It cannot be stopped: the server restarts at once.");
    case "destroy": return _("It cannot be stopped: a part of a pool is of no use.");
    default: return why;
    }
}

const lives = ({ state }: CurrentJob) => state === "running" || state === "waiting";

export interface JobNow {
    /** The job of this kind that runs or waits; undefined where there is none. */
    now: CurrentJob | undefined;
    /** How the last one ended that ran while this page was open. */
    ended: JobStatus | undefined;
    /** Look for one that was just started or ended. */
    look: () => void;
}

/** Options of `useVerb` for what a job is about: asked when one begins or ends, and every `seconds` while there is one. */
export function whileJob({ now }: JobNow, seconds: number): { every?: number } {
    return now === undefined ? {} : { every: seconds };
}

/** The job of a kind: found in the status of the server, followed while it runs, and its end. */
export function useJob(kind: JobKind): JobNow {
    const { data, at, reload } = useStatus();
    const seen = data?.jobs.find(({ name }) => name === kind);
    const [line, setLine] = useState<JobStatus>();
    const [over, setOver] = useState<Date>();
    // A status from before the end of one says nothing of the next one.
    const isNew = over === undefined || (at !== undefined && at > over);
    const isFollowed = isNew && seen?.state === "running";

    useEffect(() => {
        if (!isFollowed) return undefined;
        const stop = new AbortController();
        let last: JobStatus | undefined;
        const end = () => {
            if (stop.signal.aborted) return;
            setOver(new Date());
            // Without an end it could not be followed: the next status says whether it still runs.
            if (last !== undefined && !lives(last)) reload();
        };
        // One that failed is a line first, then a sentence on stderr.
        follow("job follow", [kind], (next) => { last = next; setLine(next); }, { signal: stop.signal }).then(end, end);
        return () => stop.abort();
    }, [isFollowed, kind, reload]);

    const ended = line !== undefined && !lives(line) ? line : undefined;
    const current = isFollowed && ended === undefined ? line ?? seen : seen;
    return { now: ended !== undefined && !isNew ? undefined : current, ended, look: reload };
}
