// SPDX-License-Identifier: Apache-2.0
/** Rungs of a run, arranged for the charts. */
import type { Rung, BenchRun, Series } from "../../types/millrace";
import { _, format } from "../../lib/i18n";
import { percent } from "../../lib/format";
import { bindingWord, inUnit, operationWord, profileWord, type Unit } from "./words";

/** Blocks above it are about bandwidth, below it about operations; as `millrace bench show` has it. */
const LARGE = 1 << 16;

export interface Shown {
    series: Series;
    unit: Unit;
}

/** The figure of a rung that counts; null where nothing was measured. */
export function shownOf({ series, workload: { block } }: Rung): Shown | null {
    const find = (quantity: Series["quantity"]) => series.find((one) => one.quantity === quantity);
    const bandwidth = find("bandwidth");
    const operations = find("operations");
    const chosen = (block !== null && block > LARGE ? bandwidth : undefined) ?? operations ?? bandwidth;
    return chosen ? { series: chosen, unit: chosen.quantity === "bandwidth" ? "bytes/s" : "operations/s" } : null;
}

export const isEmulated = (labels: readonly string[]): boolean => labels.includes("emulated");

export const workloadOf = ({ workload: { profile, operation } }: Rung): string => `${profile}/${operation}`;

export function workloadWord({ workload: { profile, operation } }: Pick<Rung, "workload">): string {
    return format(_("workload", "$0: $1"), profileWord(profile), operationWord(operation));
}

/** The workloads that a run has measured anywhere, in its order. */
export function workloads(run: BenchRun): { id: string; name: string }[] {
    const found = new Map(run.rungs.filter((rung) => shownOf(rung) !== null).map((rung) => [workloadOf(rung), workloadWord(rung)]));
    return [...found].map(([id, name]) => ({ id, name }));
}

/** The rungs of one workload, lowest first, without the drives one by one: those are a table's matter. */
export function ladder(run: BenchRun, workload: string): Rung[] {
    return run.rungs.filter((rung) => workloadOf(rung) === workload && shownOf(rung) !== null
        && (rung.layer !== "L0" || rung.target === "drives"));
}

const TARGETS: Record<string, number> = { drives: 5, array: 1, xfs: 2, "nfs-tcp": 0, "nfs-rdma": 4, smb: 3 };
/** Drives one by one, and clients. */
const OTHER = 6;

/** One colour for a target in every chart. */
export const toneOf = (target: string): number => TARGETS[target] ?? OTHER;

export function targetWord(target: string): string {
    const [, count, addresses] = /^nfs-tcp-(\d+)(-addresses)?$/.exec(target) ?? [];
    if (count !== undefined)
        return `NFS TCP, ${format(addresses === undefined ? _("connections: $0") : _("addresses: $0"), count)}`;
    switch (target) {
    case "drives": return _("All drives");
    case "array": return _("Array");
    case "xfs": return "XFS";
    case "nfs-tcp": return "NFS TCP";
    case "nfs-rdma": return "NFS RDMA";
    case "nfs-local": return "NFS LOCALIO";
    case "smb": return "SMB";
    default: return target;
    }
}

export function rungName({ layer, target }: Rung): string {
    return `${layer} ${targetWord(target)}`;
}

/** The figure of a rung; none of an emulated server. */
export function figureText(rung: Rung, emulated: boolean): string {
    const shown = shownOf(rung);
    return emulated || shown === null ? "" : inUnit(shown.series.median, shown.unit);
}

/** What the figure is part of, and what binds it. Predictions are of hardware, which an emulated server is not. */
export function relationText(rung: Rung, emulated: boolean): string {
    const { of_below, of_predicted } = rung.ceiling;
    return [
        of_below === null ? "" : format(_("$0 of the layer below"), percent(of_below)),
        of_predicted === null || emulated ? "" : format(_("$0 of prediction"), percent(of_predicted)),
        rung.binding === "unknown" ? "" : format(_("bottleneck: $0"), bindingWord(rung.binding)),
    ].filter(Boolean).join(" · ");
}

/** Both. */
export function rungText(rung: Rung, emulated: boolean): string {
    return [figureText(rung, emulated), relationText(rung, emulated)].filter(Boolean).join(" · ");
}
