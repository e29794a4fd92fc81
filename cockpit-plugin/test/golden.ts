// SPDX-License-Identifier: Apache-2.0
/** Documents of the real program, for the server in a state: test/golden is made and checked by tests/unit/plugin. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Outputs } from "../src/types/outputs";
import { does, says } from "./mocks/cockpit";

export type State = "empty" | "1u12-blank" | "1u12-found" | "1u12-testing" | "1u12-building" | "1u12-closed" | "1u12-provisioned" | "1u12-home" | "1u12-degraded" | "1u12-rebuilding" | "1u12-replacing" | "1u12-user" | "2u24-far-ports";
type Document = "status" | "alert list" | "history" | "topology" | "plan" | "drive list" | "drive progress" | "pool found" | "pool scrub status" | "pool show" | "session list" | "share networks list";
type LineVerb = "watch" | "approve";

/** What is said alike in every state. */
const ALIKE = ["history"];

const file = (state: State, verb: string, suffix: string) => join("test/golden", ALIKE.includes(verb) ? "appliance" : state, `${verb.replaceAll(" ", "-")}.${suffix}`);

export function golden<V extends Document>(state: State, verb: V): Outputs[V] {
    return JSON.parse(readFileSync(file(state, verb, "json"), "utf8")) as Outputs[V];
}

export function goldenLines<V extends LineVerb>(state: State, verb: V): Outputs[V][] {
    return readFileSync(file(state, verb, "jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line) as Outputs[V]);
}

/** The server is in `state`; what the program says of it, says the mock. */
export function serverIs(state: State): void {
    for (const verb of ["status", "alert list", "history", "topology", "drive list", "drive progress", "pool found", "pool scrub status", "pool show", "session list", "share networks list"] as const)
        if (existsSync(file(state, verb, "json"))) says(verb, golden(state, verb));
    const plan = golden(state, "plan");
    // A refusal is a document and exit status 1.
    does("plan", (call) => (plan.sha256 === null ? call.fail({ exit_status: 1 }, JSON.stringify(plan)) : call.end(JSON.stringify(plan))));
    says("plan --layouts", JSON.parse(readFileSync("test/golden/plan---layouts.json", "utf8")) as object);
    does("watch", (call) => { for (const line of goldenLines(state, "watch")) call.print(`${JSON.stringify(line)}\n`); });
}
