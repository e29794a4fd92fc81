// SPDX-License-Identifier: Apache-2.0
/** A list of processors as the kernel writes it ("0-3,8") as numbers. */
export function cpuList(text: string | null | undefined): number[] {
    if (!text) return [];
    return text.split(",").flatMap((part) => {
        const [first, last] = part.split("-").map(Number);
        if (first === undefined || Number.isNaN(first)) return [];
        return Array.from({ length: (last ?? first) - first + 1 }, (_one, index) => first + index);
    });
}
