// SPDX-License-Identifier: Apache-2.0
/** A page asks again as often as the server can bear. */
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useVerb } from "../../src/lib/hooks";
import { golden } from "../golden";
import { does, started } from "../mocks/cockpit";

const EVERY = 5;
const status = JSON.stringify(golden("1u12-provisioned", "status"));

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

const pass = (seconds: number) => act(() => vi.advanceTimersByTimeAsync(seconds * 1000));

/** A server that takes `seconds` for each answer; returns after the first one. */
async function answered(seconds: number): Promise<void> {
    does("status", (call) => setTimeout(() => call.end(status), seconds * 1000));
    renderHook(() => useVerb("status", [], { every: EVERY }));
    await pass(seconds);
    expect(started("status")).toHaveLength(1);
}

async function askedAgainAfter(seconds: number): Promise<void> {
    await pass(seconds - 0.1);
    expect(started("status")).toHaveLength(1);
    await pass(0.2);
    expect(started("status")).toHaveLength(2);
}

test("a server that answers at once is asked as often as a page wants", async () => {
    await answered(0.3);
    await askedAgainAfter(EVERY);
});

test("a server that takes 3 s is left alone for 12", async () => {
    await answered(3);
    await askedAgainAfter(12);
});

test("one that took a minute is asked again after half of one", async () => {
    does("status", (call) => setTimeout(() => call.fail({ exit_status: 1, message: "millrace: busy" }), 60_000));
    renderHook(() => useVerb("status", [], { every: EVERY, timeout: 100 }));
    await pass(60);
    await askedAgainAfter(30);
});
