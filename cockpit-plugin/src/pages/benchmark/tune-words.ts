// SPDX-License-Identifier: Apache-2.0
/** The words of the page for the keywords of `millrace tuner`; a name without one keeps the title that the program gives. */
import type { Effect, Goal, TunerKnob, Overrides, ScoredReading, Standing } from "../../types/millrace";
import { binary, change, number } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import type { TUNER_PROFILES } from "../../types/rules";
import { headlineWord, inUnit } from "./words";

type Level = TunerKnob["planned"];

export function knobWord(name: string, title = name): string {
    switch (name) {
    case "nfsd.threads": return _("NFS server threads");
    case "nfsd.threads_min": return _("Threads that each pool of the NFS server keeps");
    case "nfsd.io_cache_read": return _("How the NFS server reads files");
    case "nfsd.io_cache_write": return _("How the NFS server writes files");
    case "md.stripe_cache_size": return _("Stripe cache of each parity array");
    case "md.group_thread_cnt": return _("Worker threads of each parity array and node");
    case "md.read_ahead_kib": return _("Read-ahead of the pool");
    case "md.member_requests": return _("Requests in the queue of each drive");
    case "md.member_max_kib": return _("Largest request to each drive");
    case "ports.rx_usecs": return _("Microseconds that network ports wait before an interrupt");
    case "md.rebuild_min_kib": return _("Minimum rate of a rebuild for each drive");
    case "ports.interrupt_cores": return _("Cores that take the interrupts of each network port");
    case "ports.most_queues": return _("Queues of each network port at most");
    case "ports.rx_ring": return _("Descriptors of each receive ring of the network ports");
    case "ports.tx_ring": return _("Descriptors of each transmit ring of the network ports");
    case "smbd.max_credits": return _("Credits of each SMB connection");
    case "smbd.aio_min_bytes": return _("Smallest SMB request that is asynchronous");
    case "sysctl.dirty_bytes": return _("Dirty page cache at which writers wait");
    default: return title;
    }
}

export function levelWord(name: string, level: Level): string {
    if (typeof level === "string") return level;
    return name.endsWith("_kib") ? binary(level * 1024) : name.endsWith("_bytes") ? binary(level) : number(level);
}

/** `smb-seq-read` is a load of the benchmark and where it is measured. */
export function goalWord({ name, title }: Pick<Goal, "name" | "title">): string {
    if (name === "rebuild") {
        return _("A rebuild beside the other goals, of each drive");
    }
    const [, place, load = name] = /^(?:(local|smb)-)?(.+)$/.exec(name) ?? [];
    const rung = load === "fsync" ? "fsync/fsync" : load === "create" ? "meta/create" : load.replace("-", "/");
    return `${place === "smb" ? "SMB" : place === "local" ? "XFS" : "NFS"}: ${headlineWord({ rung: `//${rung}`, name: title, value: 0, unit: "bytes/s" })}`;
}

export function goalFigure({ unit }: Goal, value: number | undefined): string {
    return inUnit(value ?? null, unit === "1/s" ? "operations/s" : unit === "s" ? "seconds" : unit);
}

export function profileTitle(profile: (typeof TUNER_PROFILES)[number] | "own"): string {
    switch (profile) {
    case "training": return _("Training");
    case "checkpoint": return _("Checkpoints");
    case "mixed": return _("Many users");
    case "smb": return _("SMB workstations");
    case "own": return _("Own goals");
    }
}

export function phaseWord(phase: ScoredReading["phase"]): string {
    switch (phase) {
    case "baseline": return _("warm-up with the plan's settings");
    case "screen": return _("screening all settings");
    case "refine": return _("refining the best");
    case "confirm": return _("confirming what changed");
    case "guard": return _("comparing with plan and kernel defaults");
    }
}

export function costWord(cost: TunerKnob["cost"]): string {
    switch (cost) {
    case "none": return _("nothing");
    case "pause": return _("requests for a moment");
    case "link": return _("the link of each port");
    case "restart": return _("the service");
    }
}

export function sideWord(side: Standing["side"]): string {
    switch (side) {
    case "candidate": return _("Candidate");
    case "plan": return _("Plan");
    case "default": return _("Kernel default");
    }
}

/** What became of a setting; while the run is `active` nothing did yet. */
export function effectWord({ knob, planned, matters, moved, tried }: Effect, active: boolean): string {
    if (active) return matters ? _("matters") : _("no significant difference");
    const kept = levelWord(knob, planned);
    if (moved && tried !== null) return format(_("changed to $0"), levelWord(knob, tried));
    if (tried !== null) return format(_("stays at $0: $1 did nothing when it was measured again"), kept, levelWord(knob, tried));
    return format(matters ? _("stays at $0") : _("stays at $0: does not matter here"), kept);
}

export const withNoise = (gain: number, noise: number): string => format(_("$0 ± $1"), change(gain), change(noise).replace("+", ""));

/** The values of a combination that are others than in `plan`. */
export function changes(combination: Record<string, Level>, plan: Record<string, Level>): string[] {
    return Object.entries(combination).flatMap(([name, level]) => {
        const planned = plan[name];
        return planned === undefined || planned === level ? []
            : [format(_("$0: $1 in place of $2"), knobWord(name), levelWord(name, level), levelWord(name, planned))];
    });
}

/** Settings that are applied. */
export function applied(values: Overrides): string[] {
    return Object.entries(values).flatMap(([section, keys]) => Object.entries(keys as Record<string, Level | null>).flatMap(([key, level]) => {
        const name = `${section}.${key}`;
        return level === null ? [] : [format(_("$0: $1"), knobWord(name), levelWord(name, level))];
    }));
}
