// SPDX-License-Identifier: Apache-2.0
/** What is typed is judged as the command line judges it: tests/unit/pages asks it the same table. */
import { expect, test } from "vitest";
import { document } from "../documents";
import { printed, network } from "../../src/lib/ip";
import * as rules from "../../src/pages/shares/rules";

const TABLE = document<Record<string, [string, string | null][]>>("rules.json");
const RULES: Record<string, (text: string) => string | null> = {
    share_name: rules.shareName,
    account_name: rules.accountName,
    comment: rules.comment,
    network: rules.network,
    client: rules.client,
    size: rules.size,
    password: rules.password,
};

test.each(Object.keys(TABLE))("the rule %s says what the command line says", (name) => {
    const rule = RULES[name];
    expect(rule).toBeDefined();
    expect(TABLE[name]?.map(([text]) => [text, rule?.(text)])).toEqual(TABLE[name]);
});

test("sizes are powers of 1024, and none is no limit", () => {
    expect(["10T", "500g", "1KiB", "7"].map(rules.bytesOf)).toEqual([10 * 1024 ** 4, 500 * 1024 ** 3, 1024, 7]);
    expect([rules.bytesOf("none"), rules.bytesOf(""), rules.bytesOf("x")]).toEqual([null, null, undefined]);
    expect(rules.size("4K")).toContain("1 MiB at least");
});

test("accounts of a domain may be typed", () => {
    expect(["anna", "LAB\\anna", "lab.example\\Domain Users"].map(rules.anyAccount)).toEqual([null, null, null]);
    expect(rules.anyAccount("LAB\\")).toContain("write it like DOMAIN\\name");
    expect(rules.anyAccount("Anna")).toContain("cannot be the name");
});

test("networks are printed with their longest run of zeros left out", () => {
    const shown = (text: string) => { const found = network(text); return found && printed(found); };
    expect(shown("1:0:0:2:0:0:0:3/128")).toBe("1:0:0:2::3/128");
    expect(shown("1:0:2:3:4:5:6:7/128")).toBe("1:0:2:3:4:5:6:7/128");
    expect(shown("::/0")).toBe("::/0");
    expect(shown("10.9.8.7/255.255.0.0")).toBe("10.9.0.0/16");
});
