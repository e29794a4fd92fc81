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

test("squashed users keep their numbers, and none are sent where users are not squashed", () => {
    const before = wanted("models");
    const client = { ...NEW_CLIENT, client: "10.0.0.0/24", squash: "all" as const, anonuid: 2000, anongid: 2001 };
    expect(words({ ...before, clients: [client] }, before)).toEqual(["--nfs-client=10.0.0.0/24 access=rw squash=all anonuid=2000 anongid=2001 sec=sys"]);
    expect(words({ ...before, clients: [{ ...client, squash: "none" }] }, before)).toEqual(["--nfs-client=10.0.0.0/24 access=rw squash=none sec=sys"]);
});

test("a quota of directories is sent, and taken away", () => {
    const before = wanted("models");
    expect(words({ ...before, childSize: "100G" }, before)).toEqual(["--child-size=100G"]);
    expect(words(before, { ...before, childSize: "100G" })).toEqual(["--child-size=none"]);
});

test("a group is sent together with the users: to the program they are one list", () => {
    const before = wanted("models");
    expect(words({ ...before, groups: ["ml"] }, before)).toEqual(["--smb-user=anna", "--smb-user=ben", "--smb-group=ml"]);
});

test("who writes is sent with its group, and not for a type that determines it", () => {
    const before = { ...wanted("models"), writing: "together" as const, group: "" };
    expect(words({ ...before, group: "ml" }, before)).toEqual(["--group=ml"]);
    expect(words({ ...before, writing: "some", group: "ml" }, before)).toEqual(["--writing=some", "--group=ml"]);
    expect(words(before, { ...before, group: "ml" })).toEqual(["--group=none"]);
    expect(words({ ...before, writing: "own" }, { ...before, group: "ml" })).toEqual(["--writing=own"]);
    expect(words({ ...before, type: "home", writing: "own" }, before)).toEqual(["--type=home"]);
    expect(words({ ...NEW, name: "a", type: "dataset-ro" })).not.toContain("--writing=together");
    expect(problems({ ...NEW, name: "new", writing: "some" }, true)["group"]).toBe("Select the group that writes.");
});

test("a comment that begins with a dash is no option", () => {
    expect(words({ ...NEW, name: "a", comment: "--no-nfs" })).toContain("--comment=--no-nfs");
});

test("sizes come back as they were typed", () => {
    expect([10 * 1024 ** 4, 1536 * 1024 ** 3, 1000, null].map(sizeText)).toEqual(["10T", "1536G", "1000", ""]);
});

test.each<[string, Partial<Form>, string, string]>([
    ["a name of another meaning", { name: "homes" }, "name", "'homes' cannot be the name of a share: it means something else to SMB"],
    ["no size", { size: "much" }, "size", "'much' is not a size: write it like 500G or 10T, or none"],
    ["nobody on SMB", { users: [] }, "smb", "Select at least one user or group."],
    ["a netgroup that is none", { clients: [NEW_CLIENT, { ...NEW_CLIENT, client: "@" }] }, "clients.1", "'@' is not the name of a netgroup"],
    ["no security at all", { clients: [{ ...NEW_CLIENT, client: "@a", sec: [] }] }, "clients.0", "Select at least one security flavor."],
    ["a network that is none", { networks: ["x"] }, "networks.0", "'x' is not a network: write it like 10.0.0.0/24 or fd00:1::/64"],
])("%s is refused where it is typed", (_what, changed, field, sentence) => {
    expect(problems({ ...NEW, name: "new", ...changed }, true)[field]).toBe(sentence);
});

test("what is switched off is not judged", () => {
    expect(problems({ ...NEW, name: "new", smb: false, users: [], networks: ["x"] }, true)).toEqual({});
    expect(problems({ ...NEW, name: "new", nfs: false, clients: [NEW_CLIENT] }, true)).toEqual({});
    expect(problems(wanted("models"), false)).toEqual({});
});
