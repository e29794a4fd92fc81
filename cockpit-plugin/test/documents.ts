// SPDX-License-Identifier: Apache-2.0
/** Documents of the verbs that pages are fed with; tests/unit/plugin checks each against its model. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { says } from "./mocks/cockpit";

const GOLDEN = join(import.meta.dirname, "golden");

export function read(name: string): string {
    return readFileSync(join(GOLDEN, name), "utf8");
}

export function document<T = object>(name: string): T {
    return JSON.parse(read(name)) as T;
}

/** `millrace VERB` prints the golden document VERB.json, or VERB.CASE.json. */
export function golden(verb: string, variant?: string): void {
    says(verb, document(`${verb.replaceAll(" ", "-")}${variant === undefined ? "" : `.${variant}`}.json`));
}
