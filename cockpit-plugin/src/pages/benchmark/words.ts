// SPDX-License-Identifier: Apache-2.0
/** What the keywords of `millrace bench` mean, for a person. */
import type { Headline, Rung, BenchRunSummary } from "../../types/millrace";
import type { Level } from "../../components/Health";
import { latency, operations, rate } from "../../lib/format";
import { _, format, locale } from "../../lib/i18n";

export function layerWord(layer: Rung["layer"]): string {
    switch (layer) {
    case "L0": return _("Drives");
    case "L1": return _("Array and file system");
    case "L2": return _("Protocols, mounted on this server");
    case "L3": return _("Real clients");
    }
}

export function profileWord(profile: Rung["workload"]["profile"]): string {
    switch (profile) {
    case "seq": return _("Sequential, 1 MiB");
    case "rand": return _("Random, 4 KiB");
    case "mixed": return _("70 % reads, 8 KiB");
    case "fsync": return _("Commits, 4 KiB");
    case "meta": return _("Small files");
    case "unet3d": return _("Training on volumes (3D-U-Net-like)");
    case "retinanet": return _("Training on images (RetinaNet-like)");
    case "checkpoint": return _("Checkpoints");
    case "kvcache": return _("Inference key-value cache");
    case "connections": return _("Reads by connections");
    }
}

/** For the axis of a chart. */
export function profileShort(profile: Rung["workload"]["profile"]): string {
    switch (profile) {
    case "seq": return _("1 MiB");
    case "rand": return _("4 KiB");
    case "mixed": return _("8 KiB");
    case "fsync": return _("Commits");
    case "meta": return _("Small files");
    case "unet3d": return _("workload", "Volumes");
    case "retinanet": return _("Images");
    case "checkpoint": return _("Checkpoints");
    case "kvcache": return _("KV cache");
    case "connections": return _("Connections");
    }
}

export function operationWord(operation: Rung["workload"]["operation"]): string {
    switch (operation) {
    case "read": return _("read");
    case "write": return _("write");
    case "mixed": return _("read and write");
    case "fsync": return _("write and sync");
    case "create": return _("create");
    case "stat": return _("look up");
    case "delete": return _("delete");
    case "save": return _("save");
    case "load": return _("load");
    case "train": return _("train");
    case "stress": return _("8B model, no memory");
    case "throughput": return _("8B model, 4 GiB of memory");
    case "large": return _("70B model, no memory");
    case "stream": return _("1 MiB");
    case "small": return _("4 KiB");
    }
}

/** The workload in the id of a rung, `L2/nfs-rdma/seq/read`; `name` where it is not of this page's words. */
export function headlineWord({ rung, name }: Headline): string {
    const [, , profile = "", operation = ""] = rung.split("/");
    const [load, what] = [profileWord(profile as Rung["workload"]["profile"]), operationWord(operation as Rung["workload"]["operation"])] as
        (string | undefined)[];
    return load === undefined || what === undefined ? name : format(_("workload", "$0: $1"), load, what);
}

export function stateWord(state: Rung["state"]): string {
    switch (state) {
    case "pending": return _("Waiting");
    case "running": return _("Running");
    case "done": return _("Done");
    case "skipped": return _("Skipped");
    case "failed": return _("Failed");
    case "stopped": return _("Stopped");
    case "interrupted": return _("Interrupted");
    }
}

/** Only what was measured to its end is green. */
export function stateLevel(state: Rung["state"]): Level {
    switch (state) {
    case "done": return "OK";
    case "failed": return "FAIL";
    case "stopped":
    case "interrupted": return "WARN";
    default: return "UNKNOWN";
    }
}

export function labelWord(label: BenchRunSummary["labels"][number]): string {
    switch (label) {
    case "degraded": return _("degraded");
    case "rebuilding": return _("rebuilding");
    case "with-clients": return _("clients connected");
    case "emulated": return _("emulated server");
    case "imported": return _("imported from mlpstorage");
    }
}

export function flagWord(flag: Rung["flags"][number]): string {
    switch (flag) {
    case "not-repeatable": return _("not repeatable within 5 %");
    case "scaled": return _("scaled down");
    case "short-reads": return _("short reads");
    case "cached": return _("served from cache");
    }
}

/** What binds a rung, in one word. */
export function bindingWord(binding: Rung["binding"]): string {
    switch (binding) {
    case "drives": return _("drives");
    case "pcie": return _("PCIe");
    case "memory": return _("memory");
    case "cpu": return _("CPU");
    case "md": return _("md threads");
    case "nic": return _("network port");
    case "nfsd": return _("NFS threads");
    case "network": return _("network");
    case "client": return _("client");
    case "latency": return _("latency");
    case "unknown": return _("unknown");
    }
}

export type Unit = "bytes/s" | "operations/s" | "seconds";

/** From here on a figure is shorter in millions. */
const MANY = 100_000;

function many(value: number): string {
    const text = new Intl.NumberFormat(locale(), { notation: "compact", maximumSignificantDigits: 3 }).format(value);
    return format(_("$0/s"), text);
}

export function inUnit(value: number | null, unit: Unit): string {
    switch (unit) {
    case "bytes/s": return rate(value);
    case "operations/s": return value !== null && value >= MANY ? many(value) : operations(value);
    case "seconds": return latency(value);
    }
}

