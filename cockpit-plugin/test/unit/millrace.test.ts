// SPDX-License-Identifier: Apache-2.0
/** The page asks the program, and whatever the program does, the page has a sentence for it. */
import { afterEach, expect, test, vi } from "vitest";
import { calls, does, refuses, says, setAdmin } from "../mocks/cockpit";
import { CliError, follow, run } from "../../src/lib/millrace";
import { lines } from "../../src/lib/program";

afterEach(() => { vi.useRealTimers(); });

const failed = (promise: Promise<unknown>): Promise<CliError> =>
    promise.then(() => { throw new Error("it did not fail"); }, (error: unknown) => error as CliError);

test("a document comes back, asked for without rights and without a language", async () => {
    says("status", { schema: 1, hostname: "millrace" });
    await expect(run("status")).resolves.toMatchObject({ hostname: "millrace" });
    expect(calls[0]?.argv).toEqual(["millrace", "status", "--json"]);
    expect(calls[0]?.options).toEqual({ superuser: null, err: "message", environ: ["LC_ALL=C.UTF-8"] });
});

test("what base1 gives back is no Promise, what run gives back is one", async () => {
    says("status", { schema: 1 });
    const answer = run("status");
    expect(answer).toBeInstanceOf(Promise);
    await answer;
});

test("the program's own sentence is shown as it is", async () => {
    refuses("approve", "The plan has changed: read it again with `millrace plan`.");
    const error = await failed(run("approve", ["abc"], { admin: true }));
    expect(error).toMatchObject({ kind: "refused", message: "The plan has changed: read it again with `millrace plan`." });
    expect(calls[0]?.options.superuser).toBe("require");
});

test("only the last line of stderr is the sentence; progress before it is not", async () => {
    does("approve", (call) => call.fail({ exit_status: 1, message: "making partitions\nmaking md1\nmillrace: mdadm failed: device busy." }));
    expect((await failed(run("approve", ["abc"]))).message).toBe("mdadm failed: device busy.");
});

test("a refusal that is a document is an answer", async () => {
    const refusal = { schema_version: 1, sha256: null, proposal: { verdict: "refused" } };
    does("plan", (call) => call.fail({ exit_status: 1, message: "millrace exited with code 1" }, JSON.stringify(refusal)));
    await expect(run("plan")).resolves.toMatchObject({ proposal: { verdict: "refused" } });
});

test("a document beside a sentence is no answer", async () => {
    does("plan", (call) => call.fail({ exit_status: 1, message: "millrace: The inventory is broken." }, '{"schema": 1}'));
    expect((await failed(run("plan"))).message).toBe("The inventory is broken.");
});

test("without administrative access the reason is said", async () => {
    setAdmin(false);
    expect(await failed(run("approve", ["abc"], { admin: true }))).toMatchObject({ kind: "no-admin" });
});

test("a program that is not there, that died, that says nothing", async () => {
    does("status", (call) => call.fail({ problem: "not-found" }));
    expect((await failed(run("status"))).kind).toBe("missing");
    does("status", (call) => call.fail({ exit_signal: "KILL", message: "millrace killed with signal KILL" }));
    expect(await failed(run("status"))).toMatchObject({ kind: "died", message: "`millrace status` exited without a reply (KILL)." });
    does("status", (call) => call.fail({ exit_status: 1, message: "millrace exited with code 1" }, "half a docu"));
    const silent = await failed(run("status"));
    expect(silent).toMatchObject({ kind: "died", output: "millrace exited with code 1\nhalf a docu" });
    expect(silent.hint).toContain("journalctl -b");
});

test("a crash is not taken for a sentence of the program, and is kept for the support", async () => {
    does("status", (call) => call.fail({ exit_status: 1, message: "Traceback (most recent call last):\n  File …\nKeyError: 'pool'" }));
    const crash = await failed(run("status"));
    expect(crash).toMatchObject({ kind: "died", message: "`millrace status` failed with status 1 and no error message." });
    expect(crash.output).toContain("KeyError: 'pool'");
    expect(crash.hint).toContain("journalctl -b");
});

test("garbage is told from a document, and kept for the support", async () => {
    does("status", (call) => call.end("Traceback (most recent call last):"));
    expect(await failed(run("status"))).toMatchObject({ kind: "garbage", output: "Traceback (most recent call last):" });
});

test("a document of another version is not half understood", async () => {
    says("status", { schema: 2 });
    expect(await failed(run("status"))).toMatchObject({ kind: "schema" });
    says("status", { health: "OK" });
    expect(await failed(run("status"))).toMatchObject({ kind: "schema" });
});

test("a program that hangs is ended and reported", async () => {
    vi.useFakeTimers();
    does("status", () => undefined);
    const error = failed(run("status", [], { timeout: 10 }));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await error).toMatchObject({ kind: "timeout", message: "`millrace status` timed out after 10 seconds." });
    expect(calls[0]?.closed).toBe("timeout");
});

test("a secret goes in on stdin and nowhere else", async () => {
    says("status", { schema: 1 });
    await run("status", [], { input: "hunter2\n" });
    expect(calls[0]?.input).toBe("hunter2\n");
    expect(JSON.stringify([calls[0]?.argv, calls[0]?.options])).not.toContain("hunter2");
});

test("lines cut anywhere come out whole and once", () => {
    const text = `${JSON.stringify({ a: "ä", long: "x".repeat(50) })}\n{"b":2}\n\n{"c":3}\n`;
    for (let cut = 0; cut <= text.length; cut += 1) {
        const seen: string[] = [];
        let buffer = text.slice(0, cut);
        buffer = buffer.slice(lines(buffer, (line) => seen.push(line)));
        buffer += text.slice(cut);
        buffer = buffer.slice(lines(buffer, (line) => seen.push(line)));
        expect(buffer).toBe("");
        expect(seen).toEqual(text.split("\n").filter(Boolean));
    }
});

test("a stream of lines is followed to its end", async () => {
    const seen: unknown[] = [];
    does("watch", (call) => { call.print('{"schema":1,"time":1}\n{"schema":1,'); call.print('"time":2}\n'); call.end(); });
    await follow("watch", [], (sample) => seen.push(sample.time));
    expect(seen).toEqual([1, 2]);
});

test("a stream that breaks off, or prints garbage, is an error; one that the page stops is none", async () => {
    const ignore = () => undefined;
    does("watch", (call) => call.end('{"schema":1,"time":1}\n{"schema":'));
    expect((await failed(follow("watch", [], ignore))).kind).toBe("garbage");
    does("watch", (call) => call.print("oops\n"));
    expect((await failed(follow("watch", [], ignore))).kind).toBe("garbage");
    does("watch", (call) => call.fail({ exit_status: 1, message: "millrace: nothing to watch" }));
    expect((await failed(follow("watch", [], ignore))).message).toBe("nothing to watch");
    const stop = new AbortController();
    does("watch", (call) => call.print('{"schema":1,"time":1}\n'));
    const followed = follow("watch", [], () => stop.abort(), { signal: stop.signal });
    await expect(followed).resolves.toBeUndefined();
    expect(calls.at(-1)?.closed).toBe("cancelled");
});
