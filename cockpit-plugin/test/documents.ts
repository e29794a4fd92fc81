// SPDX-License-Identifier: Apache-2.0
/** Documents of the verbs that pages are fed with: made by tests/unit/plugin/week.py, or composed and held to their models. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { says } from "./mocks/cockpit";

const GOLDEN = join(import.meta.dirname, "golden");

export function read(name: string): string {
    const made = join(GOLDEN, "appliance", name);
    return readFileSync(existsSync(made) ? made : join(GOLDEN, name), "utf8");
}

export function document<T = object>(name: string): T {
    return JSON.parse(read(name)) as T;
}

/** `millrace VERB` prints the golden document VERB.json, or VERB.CASE.json. */
export function golden(verb: string, variant?: string): void {
    says(verb, document(`${verb.replaceAll(" ", "-")}${variant === undefined ? "" : `.${variant}`}.json`));
}
