// SPDX-License-Identifier: Apache-2.0
/** Colours of arrays and legs: the same thing has the same colour on every page. */
const TONES = 5;

/** The last one is for what is in no array. */
export const NO_TONE = TONES;

/** "data/leg 1" and the like, in the order of the arrays, each with the number of its colour. */
export function tones(names: readonly string[]): Map<string, number> {
    return new Map(names.map((name, index) => [name, index % TONES]));
}
