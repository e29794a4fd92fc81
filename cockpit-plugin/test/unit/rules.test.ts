// SPDX-License-Identifier: Apache-2.0
/** What is typed is judged as the program judges it: tests/unit/plugin/inputs.py asks it the same texts. */
import { expect, test } from "vitest";
import { document } from "../documents";
import type { Rule } from "../../src/lib/rule";
import * as rules from "../../src/types/rules";

const TABLE = document<Record<string, [string, string | null][]>>("inputs/rules.json");
const RULES = Object.fromEntries(Object.entries(rules).filter((one): one is [string, Rule] => typeof one[1] === "function"));

test("every rule is asked", () => {
    expect(Object.keys(TABLE).sort()).toEqual(Object.keys(RULES).sort());
});

test.each(Object.keys(RULES))("the rule %s says what the program says", (name) => {
    const texts = TABLE[name] ?? [];
    expect(texts.map(([text]) => [text, RULES[name]?.(text) ?? null])).toEqual(texts);
    // one that takes or refuses everything would pass, too
    expect(new Set(texts.map(([, sentence]) => sentence === null)).size).toBe(2);
});
