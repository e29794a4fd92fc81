// SPDX-License-Identifier: Apache-2.0
/** The editor's state: from the desired state of the server, checked, and back to the words of the command line. */
import type { DesiredShare, NfsClient } from "../../types/millrace";
import { _ } from "../../lib/i18n";
import * as rules from "../../types/rules";

/** Stands on the command line for "the networks of the policy". */
const DEFAULT = "default";
export const ADMIN = "admin";

export type ShareType = DesiredShare["type"];
export type Writing = NonNullable<DesiredShare["writing"]>;

/** Types that determine who may write. */
export const hasRule = (type: ShareType): boolean => type === "home" || type === "dataset-ro";

export interface Form {
    name: string;
    type: ShareType;
    comment: string;
    writing: Writing;
    /** Of the users who write; empty for all users of the share. */
    group: string;
    /** As typed: 500G, 10T, or nothing for no limit. */
    size: string;
    softSize: string;
    /** Of each directory at the top. */
    childSize: string;
    nfs: boolean;
    /** None: the networks of the policy. */
    clients: NfsClient[];
    smb: boolean;
    users: string[];
    groups: string[];
    /** None: the networks of the policy. */
    networks: string[];
    encryption: "offered" | "required";
    timeMachine: boolean;
    /** Over RDMA by the kernel, and not by Samba. */
    direct: boolean;
    /** Samba records who opens and changes files. */
    audit: boolean;
    /** Over SMB clients see the snapshots. */
    previousVersions: boolean;
    /** NFS clients may read the snapshots. */
    nfsSnapshots: boolean;
}

/** By the field that it belongs to: `name`, `clients.0`, `networks.1`, `smb` for what is about the whole side. */
export type Problems = Record<string, string>;

export const NEW: Form = {
    name: "",
    type: "mixed",
    comment: "",
    writing: "together",
    group: "",
    size: "",
    softSize: "",
    childSize: "",
    nfs: true,
    clients: [],
    smb: true,
    users: [ADMIN],
    groups: [],
    networks: [],
    encryption: "offered",
    timeMachine: false,
    direct: false,
    audit: false,
    previousVersions: true,
    nfsSnapshots: false,
};

export const NEW_CLIENT: NfsClient = { client: "", access: "rw", squash: "root", anonuid: null, anongid: null, sec: ["sys"], xprtsec: [] };

export function fromWanted(share: DesiredShare): Form {
    return {
        name: share.name,
        type: share.type,
        comment: share.comment,
        writing: share.writing ?? "own",
        group: share.group ?? "",
        size: sizeText(share.size),
        softSize: sizeText(share.soft_size),
        childSize: sizeText(share.child_size ?? null),
        nfs: share.nfs.enabled,
        clients: share.nfs.clients,
        smb: share.smb.enabled,
        users: share.smb.users,
        groups: share.smb.groups,
        networks: share.smb.networks,
        encryption: share.smb.encryption,
        timeMachine: share.smb.time_machine,
        direct: share.smb.direct ?? false,
        audit: share.smb.audit ?? false,
        previousVersions: share.smb.previous_versions ?? true,
        nfsSnapshots: share.nfs.snapshots ?? false,
    };
}

/** Bytes in the largest unit in which they are whole: 10T. */
export function sizeText(bytes: number | null): string {
    if (bytes === null) return "";
    const units = ["", "K", "M", "G", "T", "P"];
    let value = bytes;
    let unit = 0;
    while (unit < units.length - 1 && value > 0 && value % 1024 === 0) { value /= 1024; unit += 1; }
    return `${value}${units[unit] ?? ""}`;
}

/** What is wrong with single fields, or not chosen yet; the rest is asked of a dry run. */
export function problems(form: Form, isNew: boolean): Problems {
    const { name, comment, size, softSize, childSize, clients, users, groups, networks } = form;
    const found: Record<string, string | undefined> = {
        name: isNew ? rules.shareName(name) : undefined,
        comment: rules.comment(comment),
        group: form.writing === "some" && form.group === "" && !hasRule(form.type) ? _("Select the group that writes.") : undefined,
        size: size === "" ? undefined : rules.size(size),
        softSize: softSize === "" ? undefined : rules.size(softSize),
        childSize: childSize === "" ? undefined : rules.size(childSize),
        ...(form.nfs && fields("clients", clients, ({ client, sec }) =>
            rules.client(client) ?? (sec.length === 0 ? _("Select at least one security flavor.") : undefined))),
        // A blank was typed, and the next network not yet.
        ...(form.smb && fields("networks", networks, (one) => (one === "" ? undefined : rules.network(one)))),
        ...(form.smb && { smb: users.length + groups.length === 0 ? _("Select at least one user or group.") : undefined }),
    };
    return Object.fromEntries(Object.entries(found).filter((one): one is [string, string] => one[1] !== undefined));
}

function fields<T>(name: string, values: T[], problem: (value: T) => string | undefined): Record<string, string | undefined> {
    return Object.fromEntries(values.map((value, index) => [`${name}.${index}`, problem(value)]));
}

/** Options of `millrace share create` and `set`; of `set` only those that differ from `before`. */
export function words(form: Form, before?: Form): string[] {
    const differs = (...keys: (keyof Form)[]) =>
        before === undefined || keys.some((key) => JSON.stringify(form[key]) !== JSON.stringify(before[key]));
    const found: string[] = [];
    const option = (key: keyof Form, ...made: string[]) => { if (differs(key)) found.push(...made); };
    option("type", `--type=${form.type}`);
    option("comment", `--comment=${form.comment}`);
    if (!hasRule(form.type)) {
        option("writing", `--writing=${form.writing}`);
        if (form.writing !== "own" && differs("group") && (form.group !== "" || before !== undefined))
            found.push(`--group=${form.group || "none"}`);
    }
    option("size", `--size=${form.size || "none"}`);
    option("softSize", `--soft-size=${form.softSize || "none"}`);
    option("childSize", `--child-size=${form.childSize || "none"}`);
    option("nfs", form.nfs ? "--nfs" : "--no-nfs");
    option("clients", ...listed("--nfs-client", form.clients.map(clientWords)));
    option("smb", form.smb ? "--smb" : "--no-smb");
    // Users and groups are one list to the verb: naming one replaces both.
    if (differs("users", "groups"))
        found.push(...form.users.map((one) => `--smb-user=${one}`), ...form.groups.map((one) => `--smb-group=${one}`));
    option("networks", ...listed("--smb-network", form.networks.filter(Boolean)));
    option("encryption", `--encryption=${form.encryption}`);
    option("timeMachine", form.timeMachine ? "--time-machine" : "--no-time-machine");
    if (differs("direct") && (form.direct || before !== undefined)) found.push(form.direct ? "--smb-direct" : "--no-smb-direct");
    if (differs("audit") && (form.audit || before !== undefined)) found.push(form.audit ? "--audit" : "--no-audit");
    if (differs("previousVersions") && (!form.previousVersions || before !== undefined))
        found.push(form.previousVersions ? "--previous-versions" : "--no-previous-versions");
    if (differs("nfsSnapshots") && (form.nfsSnapshots || before !== undefined)) found.push(form.nfsSnapshots ? "--nfs-snapshots" : "--no-nfs-snapshots");
    return found;
}

function listed(option: string, values: string[]): string[] {
    return (values.length > 0 ? values : [DEFAULT]).map((one) => `${option}=${one}`);
}

export function clientWords({ client, access, squash, anonuid, anongid, sec, xprtsec }: NfsClient): string {
    return [
        client,
        `access=${access}`,
        `squash=${squash}`,
        ...(squash !== "none" && anonuid !== null ? [`anonuid=${anonuid}`] : []),
        ...(squash !== "none" && anongid !== null ? [`anongid=${anongid}`] : []),
        `sec=${sec.join(":")}`,
        ...(xprtsec.length > 0 ? [`xprtsec=${xprtsec.join(":")}`] : []),
    ].join(" ");
}
