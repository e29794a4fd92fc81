// SPDX-License-Identifier: Apache-2.0
/** Questions go to one program by the line, and without it each starts the program. */
import { afterEach, expect, test, vi } from "vitest";
import { calls, does, says, setAdmin, type Call } from "../mocks/cockpit";
import { ask, CliError } from "../../src/lib/millrace";

afterEach(() => { vi.useRealTimers(); });

interface Asked { id: number; words: string[]; stop?: number }
type Said = { status?: number | null; signal?: string | null; out?: string; err?: string } | undefined;

/** A `millrace answer` that says to a question what `reply` returns; it keeps what it was asked. */
function answers(reply: (words: string) => Said): { asked: Asked[]; calls: Call[] } {
    const kept: { asked: Asked[]; calls: Call[] } = { asked: [], calls: [] };
    does("answer", (call) => {
        kept.calls.push(call);
        call.heard = (text) => {
            const question = JSON.parse(text) as Asked;
            kept.asked.push(question);
            const said = question.stop === undefined ? reply(question.words.join(" ")) : undefined;
            if (said) call.print(`${JSON.stringify({ id: question.id, status: 0, signal: null, out: "", err: "", ...said })}\n`);
        };
    });
    return kept;
}

const failed = (promise: Promise<unknown>): Promise<CliError> =>
    promise.then(() => { throw new Error("it did not fail"); }, (error: unknown) => error as CliError);

test("many questions are one program, and each gets its own answer", async () => {
    const kept = answers((words) => ({ out: JSON.stringify({ schema: 1, hostname: words }) }));
    const said = await Promise.all([ask("status"), ask("topology"), ask("status")]);
    expect(said.map((one) => (one as unknown as { hostname: string }).hostname)).toEqual(["status --json", "topology --json", "status --json"]);
    expect(calls.map((call) => call.argv)).toEqual([["millrace", "answer"]]);
    expect(kept.asked.map(({ id }) => id)).toEqual([1, 2, 3]);
});

test("root and who signed in have one each", async () => {
    answers(() => ({ out: '{"schema": 1}' }));
    await Promise.all([ask("status", [], { admin: true }), ask("status")]);
    expect(calls.map((call) => call.options.superuser)).toEqual(["require", null]);
});

test("a refusal is told as the program tells it", async () => {
    answers(() => ({ status: 1, err: "millrace: There is no pool yet.\n" }));
    expect(await failed(ask("pool show"))).toMatchObject({ kind: "refused", message: "There is no pool yet." });
});

test("a verb that was killed is told", async () => {
    answers(() => ({ status: null, signal: "KILL" }));
    expect((await failed(ask("status"))).message).toContain("(KILL)");
});

test("what nobody waits for any more is stopped", async () => {
    const kept = answers(() => undefined);
    const stop = new AbortController();
    const asked = failed(ask("status", [], { signal: stop.signal }));
    await vi.waitFor(() => expect(kept.asked).toHaveLength(1));
    stop.abort();
    await asked;
    await vi.waitFor(() => expect(kept.asked.at(-1)).toEqual({ stop: 1 }));
});

test("without it, and after it died, each question starts the program", async () => {
    says("status", { schema: 1, hostname: "alone" });
    await expect(ask("status")).resolves.toMatchObject({ hostname: "alone" });
    expect(calls.map((call) => call.argv[1])).toEqual(["status"]);
});

test("what it left unanswered is asked again, and later it is tried again", async () => {
    vi.useFakeTimers();
    says("status", { schema: 1, hostname: "alone" });
    const kept = answers(() => undefined);
    const asked = ask("status");
    await vi.advanceTimersByTimeAsync(1);
    kept.calls[0]?.fail({ exit_signal: "KILL" });
    await expect(asked).resolves.toMatchObject({ hostname: "alone" });
    await ask("status");
    expect(calls.map((call) => call.argv[1])).toEqual(["answer", "status", "status"]);
    await vi.advanceTimersByTimeAsync(30_000);
    void ask("status");
    await vi.advanceTimersByTimeAsync(1);
    expect(calls.at(-1)?.argv[1]).toBe("answer");
});

test("one that hangs is left after a question's time, and who else waits is answered without it", async () => {
    vi.useFakeTimers();
    says("topology", { schema: 1, hostname: "alone" });
    const kept = answers(() => undefined);
    const late = failed(ask("status", [], { timeout: 5 }));
    const other = ask("topology", [], { timeout: 60 });
    await vi.advanceTimersByTimeAsync(5_000);
    expect((await late).kind).toBe("timeout");
    await expect(other).resolves.toMatchObject({ hostname: "alone" });
    expect(kept.calls[0]?.closed).toBe("timeout");
});

test("where root's rights are missing, that is said", async () => {
    setAdmin(false);
    expect(await failed(ask("status", [], { admin: true }))).toMatchObject({ kind: "no-admin" });
});
