// SPDX-License-Identifier: Apache-2.0
/** The editor sends what was changed, and nothing that was not. */
import { expect, test } from "vitest";
import type { Config } from "../../src/types/millrace";
import { NEW, NEW_CLIENT, fromWanted, problems, sizeText, words, type Form } from "../../src/pages/shares/form";
import { document } from "../documents";

const CONFIG = document<Config>("config-show.json");

function wanted(name: string): Form {
    const share = CONFIG.shares.find((one) => one.name === name);
    if (share === undefined) throw new Error(`the golden document has no share ${name}`);
    return fromWanted(share);
}

test("an unchanged share sends nothing", () => {
    for (const { name } of CONFIG.shares) expect(words(wanted(name), wanted(name))).toEqual([]);
});

test("only what differs is sent", () => {
    const before = wanted("models");
    expect(words({ ...before, size: "12T" }, before)).toEqual(["--size=12T"]);
    expect(words({ ...before, size: "", nfs: false }, before)).toEqual(["--size=none", "--no-nfs"]);
    expect(words({ ...before, users: ["anna"] }, before)).toEqual(["--smb-user=anna"]);
    expect(words({ ...before, clients: [] }, before)).toEqual(["--nfs-client=default"]);
    expect(words({ ...before, networks: ["10.5.0.0/24", ""] }, before)).toEqual(["--smb-network=10.5.0.0/24"]);
});

test("clients keep all their options", () => {
    const before = wanted("models");
    const [, gpus = NEW_CLIENT] = before.clients;
    expect(words({ ...before, clients: [{ ...gpus, access: "ro" }] }, before))
        .toEqual(["--nfs-client=@gpus access=ro squash=root sec=krb5p xprtsec=tls:mtls"]);
});

test("a group is sent together with the users: to the program they are one list", () => {
    const before = wanted("models");
    expect(words({ ...before, groups: ["ml"] }, before)).toEqual(["--smb-user=anna", "--smb-user=ben", "--smb-group=ml"]);
});

test("a comment that begins with a dash is no option", () => {
    expect(words({ ...NEW, name: "a", comment: "--no-nfs" })).toContain("--comment=--no-nfs");
});

test("sizes come back as they were typed", () => {
    expect([10 * 1024 ** 4, 1536 * 1024 ** 3, 1000, null].map(sizeText)).toEqual(["10T", "1536G", "1000", ""]);
});

test.each<[string, Partial<Form>, string, string]>([
    ["a name that is there", { name: "models" }, "name", "there is a share models already"],
    ["a soft limit above the size", { size: "1T", softSize: "2T" }, "softSize", "the soft limit of new is above its size"],
    ["nobody on SMB", { users: [] }, "smb", "a share on SMB needs a user or a group: nobody could open it"],
    ["a client named twice", { clients: [{ ...NEW_CLIENT, client: "@a" }, { ...NEW_CLIENT, client: "@a" }] }, "clients.1", "the NFS client @a is named twice"],
    ["a writer of a dataset", { profile: "dataset-ro", clients: [{ ...NEW_CLIENT, client: "@a" }] }, "clients.0",
        "new is a dataset-ro, which nobody writes: let @a in with access=ro"],
    ["a Time Machine beside NFS", { timeMachine: true }, "timeMachine", "Time Machine needs new for itself: writable, and without NFS"],
    ["no security at all", { clients: [{ ...NEW_CLIENT, client: "@a", sec: [] }] }, "clients.0", "choose one security flavour at least"],
    ["a network that is none", { networks: ["10.0.0.1/24"] }, "networks.0", "'10.0.0.1/24' is an address inside a network: did you mean 10.0.0.0/24?"],
])("%s is refused where it is typed", (_what, changed, field, sentence) => {
    expect(problems({ ...NEW, name: "new", ...changed }, true, CONFIG)[field]).toBe(sentence);
});

test("what is switched off is not judged", () => {
    expect(problems({ ...NEW, name: "new", smb: false, users: [], networks: ["x"] }, true, CONFIG)).toEqual({});
    expect(problems({ ...NEW, name: "new", nfs: false, clients: [NEW_CLIENT] }, true, CONFIG)).toEqual({});
    expect(problems(wanted("models"), false, CONFIG)).toEqual({});
});
