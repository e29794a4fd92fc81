// SPDX-License-Identifier: Apache-2.0
/** Figures read as a person reads them; what is not known is never a zero. */
import { expect, test } from "vitest";
import { cpuList } from "../../src/lib/cpus";
import { age, binary, bytes, duration, latency, operations, percent, rate, UNKNOWN } from "../../src/lib/format";
import { pieces } from "../../src/components/Sparkline";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

test.each([
    [0, "0 B"], [999, "999 B"], [1000, "1 kB"], [999_960, "1 MB"], [61_417_646_456_832, "61.4 TB"], [7_681_501_126_656, "7.68 TB"],
])("%d bytes are %s", (value, text) => { expect(plain(bytes(value))).toBe(text); });

test("clients count in binary", () => { expect(plain(binary(61_417_646_456_832))).toBe("55.9 TiB"); });

test.each([[bytes], [rate], [latency], [operations], [percent], [duration]])("nothing known is a dash", (show) => {
    expect(show(null)).toBe(UNKNOWN);
    expect(show(undefined)).toBe(UNKNOWN);
    expect(show(Number.NaN)).toBe(UNKNOWN);
});

test.each([[0.00035, "350 µs"], [0.0012, "1.2 ms"], [0.25, "250 ms"], [2.5, "2.5 s"]])("%d s of latency is %s", (value, text) => {
    expect(plain(latency(value))).toBe(text);
});

test.each([[0.2, "less than a second"], [1, "1 second"], [89, "89 seconds"], [3750, "63 minutes"], [7200, "2 hours"], [300_000, "3 days"]])(
    "%d s are %s", (value, text) => { expect(duration(value)).toBe(text); });

test("lists of processors", () => {
    expect(cpuList("0-3,8")).toEqual([0, 1, 2, 3, 8]);
    expect(cpuList("")).toEqual([]);
    expect(cpuList(null)).toEqual([]);
});

test("a gap in what is known is a gap in the line", () => {
    expect(pieces([1, null, 2, 3], 3, 4).map((piece) => piece.length)).toEqual([1, 2]);
    expect(pieces([null, null], 0, 4)).toEqual([]);
});

test.each([
    [-9 * 86400, "9 days"],
    // the clock of the browser is behind
    [3600, "less than a second"],
    // the clock of the server was ahead
    [15_000 * 86400, UNKNOWN],
])("%d s from now are an age of %s", (seconds, text) => {
    expect(age(new Date(Date.now() + seconds * 1000).toISOString())).toBe(text);
});
