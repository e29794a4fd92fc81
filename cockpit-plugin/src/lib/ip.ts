// SPDX-License-Identifier: Apache-2.0
/** Addresses and networks as Python's ipaddress reads them, which is what the command line does. */

export interface Network {
    version: 4 | 6;
    /** The address, also where it has bits behind the prefix. */
    address: bigint;
    prefix: number;
    /** No bit is set behind the prefix. */
    exact: boolean;
}

const BITS = { 4: 32, 6: 128 } as const;

/** The address as a number; null where `text` is none. */
export function address(text: string): { version: 4 | 6; value: bigint } | null {
    const four = address4(text);
    if (four !== null) return { version: 4, value: four };
    const six = address6(text);
    return six === null ? null : { version: 6, value: six };
}

/** A network, `10.0.0.0/24` or `10.0.0.0/255.255.255.0`; an address alone is a network of one. */
export function network(text: string): Network | null {
    const [before = "", after, ...more] = text.split("/");
    const found = address(before);
    if (found === null || more.length > 0) return null;
    const bits = BITS[found.version];
    const prefix = after === undefined ? bits : prefixOf(after, found.version);
    if (prefix === null) return null;
    const behind = (1n << BigInt(bits - prefix)) - 1n;
    return { version: found.version, address: found.value, prefix, exact: (found.value & behind) === 0n };
}

/** A network as Python prints it, without the bits behind the prefix. */
export function printed({ version, address: value, prefix }: Network): string {
    const behind = (1n << BigInt(BITS[version] - prefix)) - 1n;
    const base = value & ~behind;
    return `${version === 4 ? text4(base) : text6(base)}/${prefix}`;
}

function address4(text: string): bigint | null {
    const parts = text.split(".");
    if (parts.length !== 4 || !parts.every((one) => /^(0|[1-9]\d{0,2})$/.test(one) && Number(one) < 256)) return null;
    return parts.reduce((sum, one) => (sum << 8n) + BigInt(one), 0n);
}

function address6(text: string): bigint | null {
    // The last four bytes may be written as an IPv4 address.
    const tail = /^(.*:)(\d[\d.]*\.\d+)$/.exec(text);
    const four = tail ? address4(tail[2] ?? "") : null;
    if (tail && four === null) return null;
    const whole = tail && four !== null
        ? `${tail[1] ?? ""}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}` : text;
    const halves = whole.split("::");
    if (halves.length > 2) return null;
    const [head = [], rest = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
    const zeros = halves.length === 2 ? 8 - head.length - rest.length : 0;
    // "::" stands for one group of zeros at least.
    if (halves.length === 2 && zeros < 1) return null;
    const groups = [...head, ...Array<string>(zeros).fill("0"), ...rest];
    if (groups.length !== 8 || !groups.every((one) => /^[0-9a-f]{1,4}$/i.test(one))) return null;
    return groups.reduce((sum, one) => (sum << 16n) + BigInt(`0x${one}`), 0n);
}

function prefixOf(text: string, version: 4 | 6): number | null {
    if (/^\d+$/.test(text)) return Number(text) <= BITS[version] ? Number(text) : null;
    const mask = version === 4 ? address4(text) : null;
    if (mask === null) return null;
    // A mask of ones and then zeros, or the other way round.
    const bits = mask.toString(2).padStart(32, "0");
    const ones = /^(1*)0*$/.exec(bits) ?? /^(0*)1*$/.exec(bits);
    return ones ? (ones[1] ?? "").length : null;
}

function text4(value: bigint): string {
    return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join(".");
}

function text6(value: bigint): string {
    const groups = Array.from({ length: 8 }, (_one, index) =>
        ((value >> BigInt(16 * (7 - index))) & 0xffffn).toString(16));
    // The longest run of zeros, the first of equals, and never one alone.
    let start = -1;
    let length = 1;
    for (let from = 0; from < 8; from++) {
        let to = from;
        while (to < 8 && groups[to] === "0") to++;
        if (to - from > length) [start, length] = [from, to - from];
    }
    if (start < 0) return groups.join(":");
    return `${groups.slice(0, start).join(":")}::${groups.slice(start + length).join(":")}`;
}
