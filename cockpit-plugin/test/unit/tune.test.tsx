// SPDX-License-Identifier: Apache-2.0
/** The tab Tune from the estimate to settings that are applied and reverted, on documents of the program. */
import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import type { TunerEstimate, TunerProgress, TunerRun, TunerStatus } from "../../src/types/millrace";
import * as saving from "../../src/lib/download";
import { StatusProvider } from "../../src/lib/status";
import Benchmark from "../../src/pages/benchmark";
import { goalWord, knobWord, levelWord } from "../../src/pages/benchmark/tune-words";
import { document, golden } from "../documents";
import { serverIs } from "../golden";
import { jobOf, lineOf } from "../jobs";
import { does, open, refuses, says, setAdmin, started } from "../mocks/cockpit";

const RUN = document<TunerRun>("tuner-show.json");
const ESTIMATE = document<TunerEstimate>("tuner-estimate.json");
const argv = (verb: string) => started(verb).at(-1)?.argv.slice(1);

function show(path: string[] = ["benchmark", "tune"]): ReturnType<typeof userEvent.setup> {
    open(path);
    render(<StatusProvider><Benchmark /></StatusProvider>);
    return userEvent.setup({ delay: null });
}

function isRunning(): void {
    for (const verb of ["tuner status", "tuner list", "tuner show", "tuner estimate"]) golden(verb, "running");
}

function hasEnded(): void {
    golden("tuner list");
    golden("tuner show");
    golden("tuner status");
}

beforeEach(() => {
    serverIs("1u12-provisioned");
    golden("tuner status", "none");
    golden("tuner list", "empty");
    golden("tuner estimate");
    golden("bench clients list", "empty");
});

test("the tab says before a run what it would try, how long, and what is left out", async () => {
    show();
    const estimate = within(await screen.findByTestId("tune-estimate"));
    expect(estimate.getByText("60 minutes at most, 42 minutes at least")).toBeDefined();
    expect(screen.getByRole("link", { name: "Tune", current: "page" })).toBeDefined();
    const rows = within(estimate.getByRole("grid", { name: "Settings to try" })).getAllByRole("row").slice(1);
    expect(rows).toHaveLength(ESTIMATE.knobs.length);
    const cache = rows.find((row) => row.getAttribute("data-row") === "sysctl.dirty_bytes");
    expect(cache?.textContent).toMatch(/writers wait.*dirty_bytes.*1.GiB4.GiB64.MiB, 256.MiB, 1.GiB, 4.GiBnothing$/u);
    expect(estimate.getByText("scheduler: NVMe drives schedule requests themselves; it stays none")).toBeDefined();
    expect(estimate.getByText(/NFS: Sequential, 1 MiB: read \(57%\)/)).toBeDefined();
    await screen.findByText("No runs yet");
    expect(screen.queryByTestId("tune-live")).toBeNull();
    expect(screen.queryByTestId("tune-result")).toBeNull();
});

test("every setting and goal of the program has words of the page", () => {
    for (const { name } of ESTIMATE.knobs) expect(knobWord(name, "")).not.toBe("");
    expect(knobWord("md.later", "a later setting")).toBe("a later setting");
    expect(["fsync", "smb-create", "local-checkpoint-save", "seq-of-later"].map((name) => goalWord({ name, title: "a later goal" })))
        .toEqual(["NFS: Commits, 4 KiB: write and sync", "SMB: Small files: create", "XFS: Checkpoints: save", "NFS: a later goal"]);
    expect([levelWord("md.read_ahead_kib", 8192), levelWord("nfsd.threads", 64), levelWord("x", "none")]).toEqual(["8\u00a0MiB", "64", "none"]);
});

test("what prevents a run is said in sentences before the button, which does nothing", async () => {
    golden("tuner estimate", "obstacle");
    show();
    const obstacles = (await screen.findAllByTestId("obstacle")).map((one) => one.textContent);
    expect(obstacles.join("\n")).toMatch(/shorter than one screen[^]*an array is degraded[^]*clients are connected/);
    const start = screen.getByRole("button", { name: "Start" });
    expect(start).toHaveProperty("disabled", true);
    // the drive is replaced, the clients are gone
    golden("tuner estimate");
    await userEvent.click(screen.getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(start).toHaveProperty("disabled", false));
    expect(screen.queryByTestId("obstacle")).toBeNull();
});

test("a run is started with the goals, the time and the clients that were estimated", async () => {
    golden("bench clients list");
    says("tuner start", document("tuner-start.json"));
    const user = show();
    await screen.findByTestId("tune-estimate");
    await user.selectOptions(screen.getByLabelText("Tune for"), "own");
    await user.clear(screen.getByLabelText("Goals with weights"));
    await user.type(screen.getByLabelText("Goals with weights"), "seq-read=2,create=1");
    await user.selectOptions(screen.getByLabelText("Time at most"), "4");
    await user.click(await screen.findByLabelText(/^Include client gpu1/));
    const words = ["--goal=seq-read=2,create=1", "--budget=4h", "--client=gpu1", "--json"];
    await waitFor(() => expect(argv("tuner estimate")).toEqual(["tuner", "estimate", ...words]));
    const start = screen.getByRole("button", { name: "Start" });
    await waitFor(() => expect(start).toHaveProperty("disabled", false));
    isRunning();
    await user.click(start);
    await screen.findByTestId("tune-live");
    expect(argv("tuner start")).toEqual(["tuner", "start", ...words]);
    expect(started("tuner start")[0]?.options.superuser).toBe("require");
});

test("goals that do not exist are refused in the program's words, and nothing starts", async () => {
    const user = show();
    await screen.findByTestId("tune-estimate");
    refuses("tuner estimate", "There is no goal 'speed'; goals are seq-read, fsync.");
    await user.selectOptions(screen.getByLabelText("Tune for"), "own");
    await screen.findByText("There is no goal 'speed'; goals are seq-read, fsync.");
    expect(screen.queryByTestId("tune-estimate")).toBeNull();
    expect(screen.getByRole("button", { name: "Start" })).toHaveProperty("disabled", true);
});

test("a run that is on is found again with its test, its settings and its first effects", async () => {
    isRunning();
    show();
    const live = within(await screen.findByTestId("tune-live"));
    const { progress } = document<TunerStatus>("tuner-status.running.json");
    const now = progress as TunerProgress;
    expect(live.getByRole("progressbar").getAttribute("aria-valuenow")).toBe(String(now.progress * 100));
    expect(live.getByRole("progressbar", { name: "NFS: Commits, 4 KiB: write and sync" })).toBeDefined();
    expect(live.getByText(`52 minutes left · reading ${now.readings + 1}, refining the best · best so far +10%`)).toBeDefined();
    const threads = (await live.findByTestId("tune-now")).querySelector('[data-row="nfsd.threads"]');
    await waitFor(() => expect(threads?.textContent).toBe("NFS server threads25616"));
    expect(threads?.querySelector("strong")?.textContent).toBe("256");
    const effects = [...(await screen.findByTestId("tune-effects")).querySelectorAll("tbody tr")].map((row) => row.lastChild?.textContent);
    expect([effects.length, ...new Set(effects)]).toEqual([10, "matters", "no significant difference"]);
    expect(screen.queryByTestId("tune-outcome")).toBeNull();
    expect(screen.getByRole("button", { name: "Start" })).toHaveProperty("disabled", true);
});

test("stopping asks first", async () => {
    isRunning();
    says("job cancel", lineOf(jobOf("tuner", { state: "cancelled" })));
    const user = show();
    await user.click(await screen.findByRole("button", { name: "Stop" }));
    expect(started("job cancel")).toHaveLength(0);
    await user.click(screen.getByRole("button", { name: "Stop the run" }));
    await waitFor(() => expect(started("job cancel").map(({ argv: words }) => words[3])).toEqual(["tuner"]));
    await waitFor(() => expect(screen.queryByTestId("confirm")).toBeNull());
});

test("a run that has ended lets the next one start", async () => {
    isRunning();
    says("job cancel", lineOf(jobOf("tuner", { state: "cancelled" })));
    const user = show();
    await screen.findByTestId("tune-live");
    expect(screen.queryByTestId("tune-estimate")).toBeNull();
    hasEnded();
    golden("tuner estimate");
    await user.click(screen.getByRole("button", { name: "Stop" }));
    await user.click(screen.getByRole("button", { name: "Stop the run" }));
    await screen.findByTestId("tune-estimate");
    expect(screen.queryByTestId("tune-live")).toBeNull();
    await waitFor(() => expect(screen.getByRole("button", { name: "Start" })).toHaveProperty("disabled", false));
});

test("a run that was begun elsewhere is seen to move, and where none runs nothing is asked again", async () => {
    const job = jobOf("tuner");
    says("status", { ...document<object>("1u12-provisioned/status.json"), jobs: [job] });
    does("job follow", (call) => call.print(`${JSON.stringify(lineOf(job))}\n`));
    vi.useFakeTimers({ shouldAdvanceTime: true });
    try {
        isRunning();
        show();
        await waitFor(() => expect(started("job follow")).toHaveLength(1));
        const before = started("tuner status").length;
        await act(() => vi.advanceTimersByTimeAsync(10_000));
        expect(started("tuner status").length).toBeGreaterThan(before);
        says("status", document<object>("1u12-provisioned/status.json"));
        hasEnded();
        await act(() => vi.advanceTimersByTimeAsync(10_000));
        await waitFor(() => expect(screen.queryByTestId("tune-live")).toBeNull());
        const after = started("tuner status").length;
        await act(() => vi.advanceTimersByTimeAsync(30_000));
        expect(started("tuner status")).toHaveLength(after);
    } finally {
        vi.useRealTimers();
    }
});

test("a run that could not begin says why", async () => {
    const { progress } = document<TunerStatus>("tuner-status.json");
    says("tuner status", { ...document<TunerStatus>("tuner-status.json"), progress: { ...progress, state: "failed", what: "clients are connected" } });
    show();
    const said = await screen.findByTestId("last-run");
    expect(said.textContent).toContain("clients are connected");
    // there is nothing to show
    expect(within(said).queryByRole("link")).toBeNull();
});

test("the winner stands beside plan and kernel defaults, and effects are bars with their noise", async () => {
    hasEnded();
    show();
    const standings = await screen.findByTestId("tune-standings");
    const texts = [...standings.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent));
    expect(texts[0]).toEqual(["Figure or setting", "Candidate", "Plan", "Kernel default"]);
    expect(texts[1]).toEqual(["Relative to the plan", "109%", "100%", "97.7%"]);
    expect(texts[2]?.[0]).toBe("NFS: Sequential, 1 MiB: read");
    expect(texts[2]?.[1]).toMatch(/^18\.8\sGB\/s$/);
    expect(texts.find(([title]) => title === "NFS server threads")).toEqual(["NFS server threads", "128", "16", "16"]);
    // the same in all sets: no row
    expect(texts.map(([title]) => title)).not.toContain("Requests in the queue of each drive");
    expect(screen.queryByTestId("tune-refused")).toBeNull();
    // how it ended is in its result
    expect(screen.queryByTestId("last-run")).toBeNull();
    const [first] = screen.getByTestId("tune-effects").querySelectorAll("tbody tr");
    expect(first?.textContent).toBe("NFS server threads16128 -8.2% ± 0.9%changed to 128");
    expect(first?.querySelectorAll("svg rect")).toHaveLength(2);
    expect(screen.getByTestId("tune-effects").textContent).toContain("stays at 1,023: does not matter here");
});

test("a bar begins in the middle, left where another value is better, and the pale one is the noise", async () => {
    hasEnded();
    show();
    const [first, second] = (await screen.findByTestId("tune-effects")).querySelectorAll("tbody tr");
    const bar = (row: Element | undefined) => {
        const [noise, effect] = [...row?.querySelectorAll("rect") ?? []].map((one) => [Number(one.getAttribute("x")), Number(one.getAttribute("width"))]);
        return { noise, effect };
    };
    const { noise, effect } = bar(first);
    expect(effect?.map(Math.round)).toEqual([0, 80]);
    expect(noise?.[0]).toBeGreaterThan(60);
    expect(Number(bar(second).effect?.[0])).toBe(80);
});

test("figures of an emulated server are not shown", async () => {
    hasEnded();
    says("tuner show", { ...RUN, environment: { ...RUN.environment, virtual: "qemu" } });
    show();
    await screen.findByTestId("emulated");
    expect(screen.getByTestId("tune-standings").textContent).not.toMatch(/GB\/s/);
    expect(screen.getByTestId("tune-standings").textContent).toContain("109%");
});

test("a setting that a driver refused stands with its words", async () => {
    hasEnded();
    says("tuner show", { ...RUN, refused: [{ name: "ports.rx_usecs", reason: "ethtool -C ens1 rx-usecs cannot be set to 8: Operation not supported" }] });
    show();
    const refused = within(await screen.findByTestId("tune-refused"));
    expect(refused.getByText("Microseconds that network ports wait before an interrupt: ethtool -C ens1 rx-usecs cannot be set to 8: Operation not supported")).toBeDefined();
});

test("the winner is applied after a question that names each change, and then reverted", async () => {
    hasEnded();
    says("tuner list", { schema_version: 1, runs: document<{ runs: object[] }>("tuner-list.json").runs.map((run) => ({ ...run, applied: false })), broken: [] });
    does("tuner apply", (call) => { golden("tuner status", "applied"); golden("tuner list"); call.end(JSON.stringify(document("tuner-apply.json"))); });
    const user = show();
    await user.click(await screen.findByRole("button", { name: "Apply…" }));
    const question = within(await screen.findByTestId("confirm"));
    expect(question.getByText("NFS server threads: 128 in place of 16")).toBeDefined();
    expect(started("tuner apply")).toHaveLength(0);
    await user.click(question.getByRole("button", { name: "Apply" }));
    const banner = within(await screen.findByTestId("tune-applied"));
    expect(argv("tuner apply")).toEqual(["tuner", "apply", RUN.id, "--json"]);
    expect(started("tuner apply")[0]?.options.superuser).toBe("require");
    expect(banner.getByText("NFS server threads: 128")).toBeDefined();
    await screen.findByText("These settings are applied.");
    expect(screen.queryByRole("button", { name: "Apply…" })).toBeNull();
    does("tuner revert", (call) => { golden("tuner status"); call.end(JSON.stringify(document("tuner-revert.json"))); });
    await user.click(banner.getByRole("button", { name: "Revert…" }));
    await user.click(screen.getByRole("button", { name: "Revert" }));
    await waitFor(() => expect(screen.queryByTestId("tune-applied")).toBeNull());
    expect(await screen.findByRole("button", { name: "Apply…" })).toBeDefined();
});

test("a change that is refused keeps its question open with the program's sentence", async () => {
    hasEnded();
    refuses("tuner apply", "run 20261120-120000 measured other hardware: measure this server with `millrace tuner run`");
    const user = show();
    await user.click(await screen.findByRole("button", { name: "Apply…" }));
    await user.click(screen.getByRole("button", { name: "Apply" }));
    expect((await within(screen.getByTestId("confirm")).findByTestId("error")).textContent).toContain("measured other hardware");
});

test("a run without a winner has nothing to apply", async () => {
    hasEnded();
    says("tuner show", { ...RUN, outcome: { ...RUN.outcome, verdict: "plan", winner: RUN.outcome?.plan, reason: "The plan's settings stay: the candidate is 1.0 % slower." } });
    show();
    expect((await screen.findByTestId("tune-outcome")).textContent).toContain("The plan's settings stay");
    expect(screen.queryByRole("button", { name: "Apply…" })).toBeNull();
});

test("settings that a run has left are restored from the page", async () => {
    says("tuner status", { ...document<TunerStatus>("tuner-status.none.json"), left: ["/sys/class/block/md127/md/stripe_cache_size"] });
    says("tuner stop", { schema_version: 1, running: false, restored: ["/sys/class/block/md127/md/stripe_cache_size"] });
    const user = show();
    const left = within(await screen.findByTestId("tune-left"));
    expect(left.getByText("/sys/class/block/md127/md/stripe_cache_size")).toBeDefined();
    await user.click(left.getByRole("button", { name: "Restore…" }));
    await user.click(screen.getByRole("button", { name: "Restore" }));
    await waitFor(() => expect(started("tuner stop")).toHaveLength(1));
});

test("an older run has an address of its own, and its report is what the program writes", async () => {
    hasEnded();
    const saved = vi.spyOn(saving, "download").mockReturnValue(undefined);
    does("tuner export", (call) => call.end("a spreadsheet"));
    const user = show(["benchmark", "tune", RUN.id]);
    await user.click(await screen.findByRole("button", { name: "Spreadsheet (XLSX)" }));
    await waitFor(() => expect(saved.mock.calls[0]?.[0]).toBe(`millrace-tuner-${RUN.id}.xlsx`));
    expect(argv("tuner export")).toEqual(["tuner", "export", RUN.id, "--format", "xlsx", "-"]);
    expect(argv("tuner show")).toEqual(["tuner", "show", RUN.id, "--json"]);
    const history = within(await screen.findByTestId("tune-history"));
    expect((await history.findByRole("link", { name: RUN.id })).getAttribute("href")).toBe(`#/benchmark/tune/${RUN.id}`);
    expect(history.getByText("+9.3%")).toBeDefined();
});

test("with limited access everything can be read, and nothing is started, applied or stopped", async () => {
    setAdmin(false);
    hasEnded();
    show();
    await screen.findByTestId("tune-estimate");
    for (const name of ["Start", "Apply…"])
        expect((await screen.findByRole("button", { name })).getAttribute("aria-disabled")).toBe("true");
    expect(started("tuner estimate")[0]?.options.superuser).toBeNull();
});
