// SPDX-License-Identifier: Apache-2.0
/** The editor's state: from the wanted state of the server, checked, and back to the words of the command line. */
import type { Config, StateShare, NfsClient } from "../../types/millrace";
import { _, format } from "../../lib/i18n";
import * as rules from "./rules";

export const PROFILES = ["training", "checkpoint", "dataset-ro", "home", "mixed"] as const;
export const SECURITY = ["sys", "krb5", "krb5i", "krb5p"] as const;
export const TRANSPORTS = ["none", "tls", "mtls"] as const;
/** Stands on the command line for "the networks of the policy". */
const DEFAULT = "default";
export const ADMIN = "admin";

export type Profile = (typeof PROFILES)[number];

export interface Form {
    name: string;
    profile: Profile;
    comment: string;
    /** As typed: 500G, 10T, or nothing for no limit. */
    size: string;
    softSize: string;
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
}

/** By the field that it belongs to: `name`, `clients.0`, `networks.1`, `smb` for what is about the whole side. */
export type Problems = Record<string, string>;

export const NEW: Form = {
    name: "",
    profile: "mixed",
    comment: "",
    size: "",
    softSize: "",
    nfs: true,
    clients: [],
    smb: true,
    users: [ADMIN],
    groups: [],
    networks: [],
    encryption: "offered",
    timeMachine: false,
};

export const NEW_CLIENT: NfsClient = { client: "", access: "rw", squash: "root", sec: ["sys"], xprtsec: [] };

export function fromWanted(share: StateShare): Form {
    return {
        name: share.name,
        profile: share.profile,
        comment: share.comment,
        size: sizeText(share.size),
        softSize: sizeText(share.soft_size),
        nfs: share.nfs.enabled,
        clients: share.nfs.clients,
        smb: share.smb.enabled,
        users: share.smb.users,
        groups: share.smb.groups,
        networks: share.smb.networks,
        encryption: share.smb.encryption,
        timeMachine: share.smb.time_machine,
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

export function problems(form: Form, isNew: boolean, known?: Config): Problems {
    const found: Problems = {};
    const put = (field: string, sentence: string | null) => { if (sentence !== null) found[field] ??= sentence; };
    if (isNew) {
        put("name", rules.shareName(form.name));
        if (known?.shares.some(({ name }) => name === form.name))
            put("name", format(_("there is a share $0 already"), form.name));
    }
    put("comment", rules.comment(form.comment));
    put("size", rules.size(form.size));
    put("softSize", rules.size(form.softSize));
    const [size, soft] = [rules.bytesOf(form.size), rules.bytesOf(form.softSize)];
    if (typeof size === "number" && typeof soft === "number" && soft > size)
        put("softSize", format(_("the soft limit of $0 is above its size"), form.name));
    if (form.nfs) clientProblems(form, put);
    if (form.smb) smbProblems(form, put);
    return found;
}

type Put = (field: string, sentence: string | null) => void;

function clientProblems(form: Form, put: Put): void {
    form.clients.forEach(({ client, access, sec }, index) => {
        put(`clients.${index}`, rules.client(client));
        if (sec.length === 0) put(`clients.${index}`, _("choose one security flavour at least"));
        if (form.clients.findIndex((one) => one.client === client) !== index)
            put(`clients.${index}`, format(_("the NFS client $0 is named twice"), client));
        if (form.profile === "dataset-ro" && access === "rw")
            put(`clients.${index}`, format(
                _("$0 is a dataset-ro, which nobody writes: let $1 in with access=ro"), form.name, client));
    });
}

function smbProblems(form: Form, put: Put): void {
    if (form.users.length + form.groups.length === 0)
        put("smb", _("a share on SMB needs a user or a group: nobody could open it"));
    form.networks.forEach((text, index) => {
        // A blank was typed, and the next network not yet.
        if (text === "") return;
        put(`networks.${index}`, rules.network(text));
        if (form.networks.indexOf(text) !== index) put(`networks.${index}`, format(_("$0 is named twice for SMB"), text));
    });
    if (form.timeMachine && (form.nfs || form.profile === "dataset-ro"))
        put("timeMachine", format(_("Time Machine needs $0 for itself: writable, and without NFS"), form.name));
}

/** Options of `millrace share create` and `set`; of `set` only those that differ from `before`. */
export function words(form: Form, before?: Form): string[] {
    const differs = (...keys: (keyof Form)[]) =>
        before === undefined || keys.some((key) => JSON.stringify(form[key]) !== JSON.stringify(before[key]));
    const found: string[] = [];
    const option = (key: keyof Form, ...made: string[]) => { if (differs(key)) found.push(...made); };
    option("profile", `--profile=${form.profile}`);
    option("comment", `--comment=${form.comment}`);
    option("size", `--size=${form.size || "none"}`);
    option("softSize", `--soft-size=${form.softSize || "none"}`);
    option("nfs", form.nfs ? "--nfs" : "--no-nfs");
    option("clients", ...listed("--nfs-client", form.clients.map(clientWords)));
    option("smb", form.smb ? "--smb" : "--no-smb");
    // Users and groups are one list to the verb: naming one replaces both.
    if (differs("users", "groups"))
        found.push(...form.users.map((one) => `--smb-user=${one}`), ...form.groups.map((one) => `--smb-group=${one}`));
    option("networks", ...listed("--smb-network", form.networks.filter(Boolean)));
    option("encryption", `--encryption=${form.encryption}`);
    option("timeMachine", form.timeMachine ? "--time-machine" : "--no-time-machine");
    return found;
}

function listed(option: string, values: string[]): string[] {
    return (values.length > 0 ? values : [DEFAULT]).map((one) => `${option}=${one}`);
}

export function clientWords({ client, access, squash, sec, xprtsec }: NfsClient): string {
    return [
        client,
        `access=${access}`,
        `squash=${squash}`,
        `sec=${sec.join(":")}`,
        ...(xprtsec.length > 0 ? [`xprtsec=${xprtsec.join(":")}`] : []),
    ].join(" ");
}
