// SPDX-License-Identifier: Apache-2.0
/** Colours of arrays and legs: the same thing has the same colour on every page. */
const TONES = 5;

/** The last one is for what is in no array. */
export const NO_TONE = TONES;

/** Arrays and legs in their order, each with the number of its colour, also where a leg is named again by what is over it. */
export function tones(names: readonly string[]): Map<string, number> {
    return new Map([...new Set(names)].map((name, index) => [name, index % TONES]));
}
