// SPDX-License-Identifier: Apache-2.0
/** To which hosts a volume is exported: what is typed, checked, and the words and the stdin of the command line. */
import type { VolumeExport } from "../../types/millrace";
import { _ } from "../../lib/i18n";
import * as rules from "../../types/rules";

export interface Host {
    nqn: string;
    secret: string;
}

export interface Order {
    transport: VolumeExport["transport"];
    hosts: Host[];
    /** Addresses and networks of the hosts, as they are typed. */
    addresses: string;
    shared: boolean;
    /** Each host has a secret; it goes to stdin and never on a command line. */
    authenticated: boolean;
}

export const NO_HOST: Host = { nqn: "", secret: "" };
export const NEW_ORDER: Order = { transport: "tcp", hosts: [NO_HOST], addresses: "", shared: false, authenticated: false };

export function fromExport({ transport, hosts, addresses, shared }: VolumeExport): Order {
    return { transport, shared, addresses: (addresses ?? []).join(", "), hosts: hosts.map((nqn) => ({ ...NO_HOST, nqn })), authenticated: false };
}

/** What is wrong with a field that is not empty. */
export function hostProblem(hosts: Host[], index: number): string | undefined {
    const nqn = hosts[index]?.nqn ?? "";
    if (nqn === "") return undefined;
    return hosts.findIndex((one) => one.nqn === nqn) < index ? _("This host is named twice.") : rules.hostNqn(nqn);
}

export function secretProblem(secret: string): string | undefined {
    return secret === "" ? undefined : rules.dhchapSecret(secret);
}

function addressesOf(typed: string): string[] {
    return typed.split(/[\s,]+/).filter(Boolean);
}

/** Whether every field is filled in and right, as far as patterns can say; the server judges addresses. */
export function complete({ hosts, addresses, authenticated }: Order): boolean {
    return hosts.length > 0 && addressesOf(addresses).length > 0 && hosts.every(({ nqn, secret }, index) => nqn !== "" && hostProblem(hosts, index) === undefined
        && (!authenticated || (secret !== "" && secretProblem(secret) === undefined)));
}

export function words({ hosts, addresses, shared, authenticated }: Order): string[] {
    return [...hosts.map(({ nqn }) => `--host=${nqn}`), ...addressesOf(addresses).map((address) => `--address=${address}`), ...(shared ? ["--shared"] : []), ...(authenticated ? ["--dhchap-stdin"] : [])];
}

/** One secret a line, in the order of the hosts. */
export function stdin({ hosts, authenticated }: Order): string {
    return authenticated ? hosts.map(({ secret }) => `${secret}\n`).join("") : "";
}
