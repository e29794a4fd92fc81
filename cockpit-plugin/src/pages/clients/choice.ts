// SPDX-License-Identifier: Apache-2.0
/** What a person chose for a client, and the words of the command line for it. */
import type { Recipe, Share } from "../../types/millrace";
import { _ } from "../../lib/i18n";
import { GPUS, hostName, recipeUser } from "../../types/rules";

type Workload = Recipe["workload"];
export type Protocol = Recipe["protocol"];
export type Gpu = (typeof GPUS)[number] | "none";

export interface Choice {
    share: string;
    workload: Workload;
    protocol: Protocol;
    host: string;
    user: string;
    gpu: Gpu;
    localCache: boolean;
}

/** A GPU reads straight into its memory over RDMA only: the program refuses the rest, and why. */
export const isRdma = (protocol: Protocol): boolean => protocol.startsWith("nfs-rdma");

export const isSmb = (protocol: Protocol): boolean => protocol.startsWith("smb");

/** Whether a share is served over a protocol, as far as the page can tell; the program has the last word. */
export function serves(share: Share, protocol: Protocol): boolean {
    if (protocol === "smb-rdma") return (share.direct ?? null) !== null;
    return isSmb(protocol) ? share.smb !== null : share.exports.length > 0;
}

export function words({ share, workload, protocol, host, user, gpu, localCache }: Choice): string[] {
    return [
        `--share=${share}`,
        `--workload=${workload}`,
        `--protocol=${protocol}`,
        ...(gpu === "none" ? [] : [`--gpu=${gpu}`]),
        ...(localCache && !isSmb(protocol) ? ["--local-cache"] : []),
        ...(host === "" ? [] : [`--host=${host}`]),
        ...(user === "" || !isSmb(protocol) ? [] : [`--user=${user}`]),
    ];
}

export function problems({ host, user, protocol }: Choice): { host: string | undefined; user: string | undefined } {
    return {
        host: host === "" ? undefined : hostName(host),
        user: isSmb(protocol) && user !== "" ? recipeUser(user) : undefined,
    };
}

export function workloadWord(workload: Workload): string {
    switch (workload) {
    case "training": return _("Training");
    case "checkpoint": return _("Checkpoints");
    case "dataloader": return _("Data loader");
    case "kvcache": return _("KV cache");
    case "mixed": return _("General use");
    }
}

export function workloadMeaning(workload: Workload): string {
    switch (workload) {
    case "training": return _("Many clients read a dataset that does not change.");
    case "checkpoint": return _("Written sequentially, read later on another node.");
    case "kvcache": return _("Blocks of an LLM server, written once and read by other nodes.");
    case "dataloader": return _("Many small files, read and preprocessed.");
    case "mixed": return _("All other use; files created by other clients are visible at once.");
    }
}

export function protocolWord(protocol: Protocol): string {
    switch (protocol) {
    case "nfs-tcp": return _("NFS over TCP");
    case "nfs-tcp-trunked": return _("NFS over TCP, several addresses (trunked)");
    case "nfs-rdma": return _("NFS over RDMA");
    case "nfs-rdma-trunked": return _("NFS over RDMA, several addresses (trunked)");
    case "smb-multichannel": return _("SMB, several channels");
    case "smb-rdma": return _("SMB over RDMA");
    }
}

export function gpuWord(gpu: Gpu): string {
    switch (gpu) {
    case "none": return _("None");
    case "nvidia": return _("NVIDIA");
    case "amd": return _("AMD");
    }
}
