// SPDX-License-Identifier: Apache-2.0
/** How the connections of a mount spread over the addresses of the server. */
import type { Recipe } from "../../types/millrace";

export interface Lane {
    address: string;
    connections: number;
}

/** The kernel opens all of nconnect to the first address, and one to each further one. */
export function lanesOf({ host, expect }: Pick<Recipe, "host" | "expect">): Lane[] {
    const addresses = expect.lane_addresses.length > 0 ? expect.lane_addresses : [host];
    return addresses.map((address, index) => ({
        address,
        connections: index === 0 ? expect.lanes - (addresses.length - 1) : 1,
    }));
}
