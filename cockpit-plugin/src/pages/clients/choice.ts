// SPDX-License-Identifier: Apache-2.0
/** What a person chose for a client, and the words of the command line for it. */
import type { Recipe, Share } from "../../types/millrace";
import { _, format } from "../../lib/i18n";
import { shown } from "../shares/rules";

type Profile = Recipe["profile"];
export type Protocol = Recipe["protocol"];

export const PROFILES: readonly Profile[] = ["training", "checkpoint", "dataloader", "mixed"];
export const PROTOCOLS: readonly Protocol[] = ["nfs-tcp", "nfs-tcp-trunked", "nfs-rdma", "smb-multichannel"];

const USER = /^(?:[A-Za-z0-9.-]{1,63}\\)?[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}$/;
const HOST = /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

export interface Choice {
    share: string;
    profile: Profile;
    protocol: Protocol;
    host: string;
    user: string;
}

export const isSmb = (protocol: Protocol): boolean => protocol.startsWith("smb");

/** Whether a share is served over a protocol, as far as the page can tell; the program has the last word. */
export function serves(share: Share, protocol: Protocol): boolean {
    return isSmb(protocol) ? share.smb !== null : share.exports.length > 0;
}

export function words({ share, profile, protocol, host, user }: Choice): string[] {
    return [
        `--share=${share}`,
        `--profile=${profile}`,
        `--protocol=${protocol}`,
        ...(host === "" ? [] : [`--host=${host}`]),
        ...(user === "" || !isSmb(protocol) ? [] : [`--user=${user}`]),
    ];
}

export function problems({ host, user, protocol }: Choice): { host?: string; user?: string } {
    return {
        ...(host !== "" && !HOST.test(host) && {
            host: format(_("$0 is not a host name: use letters, digits, - and dots, or leave it empty"), shown(host)),
        }),
        ...(isSmb(protocol) && user !== "" && !USER.test(user) && {
            user: format(_("$0 is not the name of a user: write NAME or DOMAIN\\NAME"), shown(user)),
        }),
    };
}

export function profileWord(profile: Profile): string {
    switch (profile) {
    case "training": return _("Training");
    case "checkpoint": return _("Checkpoints");
    case "dataloader": return _("Data loader");
    case "mixed": return _("General use");
    }
}

export function profileMeaning(profile: Profile): string {
    switch (profile) {
    case "training": return _("Many clients read a dataset that does not change.");
    case "checkpoint": return _("Written sequentially, read later on another node.");
    case "dataloader": return _("Many small files, read and preprocessed.");
    case "mixed": return _("All other use; files created by other clients are visible at once.");
    }
}

export function protocolWord(protocol: Protocol): string {
    switch (protocol) {
    case "nfs-tcp": return _("NFS over TCP");
    case "nfs-tcp-trunked": return _("NFS over TCP, several addresses (trunked)");
    case "nfs-rdma": return _("NFS over RDMA");
    case "smb-multichannel": return _("SMB, several channels");
    case "smb-rdma": return _("SMB over RDMA");
    }
}
