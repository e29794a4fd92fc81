// SPDX-License-Identifier: Apache-2.0
/** A run from the estimate to the report; it belongs to the server, and the page finds it again. */
import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import type { Comparison, BenchRun, BenchRunList, Submission } from "../../src/types/millrace";
import type { Outputs } from "../../src/types/outputs";
import * as saving from "../../src/lib/download";
import { StatusProvider } from "../../src/lib/status";
import Benchmark from "../../src/pages/benchmark";
import { ladder, rungText, shownOf, workloads } from "../../src/pages/benchmark/figures";
import { NOTHING, SHOWN, after } from "../../src/pages/benchmark/live";
import { trendOf } from "../../src/pages/benchmark/Trend";
import { document, golden, read } from "../documents";
import { serverIs } from "../golden";
import { jobOf, lineOf } from "../jobs";
import { does, open, refuses, says, setAdmin, setHidden, started, type Call } from "../mocks/cockpit";

type Line = Outputs["bench follow"];
const LINES = read("bench-follow.jsonl").trim().split("\n").map((line) => JSON.parse(line) as Line);
const RUN = document<BenchRun>("bench-show.json");
const LIST = document<BenchRunList>("bench-list.json");
const argv = (verb: string) => started(verb).at(-1)?.argv.slice(1);

function show(path: string[] = ["benchmark"]): ReturnType<typeof userEvent.setup> {
    open(path);
    render(<StatusProvider><Benchmark /></StatusProvider>);
    return userEvent.setup({ delay: null });
}

const idle = () => refuses("bench follow", "no benchmark ran since the server was started: `millrace bench list` has the older ones");
const running = (call: Call) => call.print(LINES.map((line) => `${JSON.stringify(line)}\n`).join(""));

beforeEach(() => {
    serverIs("1u12-provisioned");
    idle();
    golden("bench list");
    golden("bench estimate");
    golden("bench show");
    golden("bench clients list", "empty");
});

test("before a run starts it says how long, how much and where it writes", async () => {
    show();
    const estimate = await screen.findByTestId("estimate");
    expect(estimate.textContent).toMatch(/17 minutes/);
    expect(estimate.textContent).toMatch(/68\sGiB/);
    expect(estimate.textContent).toContain("nfs-rdma: this server has no RDMA device");
    expect(screen.queryByTestId("live")).toBeNull();
    expect(screen.queryByTestId("error")).toBeNull();
});

test("a server without a pool is shown the way to one, not a fault", async () => {
    serverIs("1u12-blank");
    refuses("bench estimate", "this server has no pool yet; read its plan with `millrace plan`");
    show();
    const panel = within(await screen.findByTestId("start"));
    await panel.findByText("No pool yet");
    expect(panel.getByRole("link", { name: "Go to the plan" }).getAttribute("href")).toBe("#/storage");
    expect(screen.queryByTestId("error")).toBeNull();
});

test("a preset is estimated and started with the same words", async () => {
    says("bench start", { schema_version: 1, run: "20261120-111500", unit: "millrace-bench.service", estimate: document("bench-estimate.json") });
    const user = show();
    await user.click(await screen.findByLabelText(/^Checkpoints/));
    await user.click(screen.getByLabelText(/^Allow while clients are connected/));
    const words = ["--quick", "--profile=checkpoint", "--profile=fsync", "--with-clients", "--json"];
    await waitFor(() => expect(argv("bench estimate")).toEqual(["bench", "estimate", ...words]));
    does("bench follow", running);
    const start = screen.getByRole("button", { name: "Start" });
    await waitFor(() => expect(start).toHaveProperty("disabled", false));
    await user.click(start);
    await screen.findByTestId("live");
    expect(argv("bench start")).toEqual(["bench", "start", ...words]);
    expect(started("bench start")[0]?.options.superuser).toBe("require");
});

test("what is in the way is said before, and nothing starts", async () => {
    golden("bench estimate", "obstacle");
    show();
    await screen.findByTestId("obstacle");
    expect(screen.getByRole("button", { name: "Start" })).toHaveProperty("disabled", true);
});

test("a run that is on is found again with all that it has done", async () => {
    does("bench follow", running);
    show();
    const live = await screen.findByTestId("live");
    await waitFor(() => expect(within(live).getByRole("progressbar").getAttribute("aria-valuenow")).toBe("19.833333333333332"));
    expect(within(live).getByTestId("phases").querySelectorAll("tbody tr")).toHaveLength(4);
    expect(within(live).getByText(/^Bandwidth: /).textContent).toMatch(/GB\/s$/);
    expect(screen.getByRole("button", { name: "Start" })).toHaveProperty("disabled", true);
});

test("figures of an emulated server are not shown, nor before anybody knows what server it is", async () => {
    does("bench follow", running);
    says("bench list", { ...LIST, runs: LIST.runs.map((run) => ({ ...run, labels: ["emulated"], headlines: [] })) });
    show();
    const live = await screen.findByTestId("live");
    await screen.findAllByText("emulated server");
    expect(live.textContent).not.toMatch(/GB\/s/);
    expect(within(live).getByText("Bandwidth")).toBeDefined();
});

test("a run that was begun elsewhere is found", async () => {
    refuses("bench follow", "no benchmark ran since the server was started");
    show();
    await waitFor(() => expect(started("bench follow")).toHaveLength(1));
    does("bench follow", running);
    says("status", { ...document<object>("1u12-provisioned/status.json"), jobs: [jobOf("benchmark")] });
    await act(async () => { setHidden(true); setHidden(false); await Promise.resolve(); });
    expect(await screen.findByTestId("live")).toBeDefined();
});

test("stopping asks first", async () => {
    does("bench follow", running);
    says("job cancel", lineOf(jobOf("benchmark", { state: "cancelled" })));
    const user = show();
    await user.click(await screen.findByRole("button", { name: "Stop" }));
    expect(started("job cancel")).toHaveLength(0);
    await user.click(screen.getByRole("button", { name: "Stop the run" }));
    await waitFor(() => expect(started("job cancel").map(({ argv: words }) => words[3])).toEqual(["benchmark"]));
});

test("a run that has ended says how, and where its results are", async () => {
    const last = { ...(LINES.at(-1) as Line), state: "stopped", what: "a drive is too hot: S6XYZ001 has 78 °C" } as Line;
    does("bench follow", (call) => call.end(`${JSON.stringify(last)}\n`));
    show();
    const said = await screen.findByTestId("last-run");
    expect(said.textContent).toContain("Run 20261120-111500: Stopped");
    expect(said.textContent).toContain("78 °C");
    expect(within(said).getByRole("link").getAttribute("href")).toBe("#/benchmark/run/20261120-111500");
});

test("the live picture keeps five minutes, and another run begins anew", () => {
    const line = LINES[0] as Line;
    let live = NOTHING;
    for (let second = 0; second < SHOWN + 50; second += 1) live = after(live, { ...line, time: second });
    expect(live.points).toHaveLength(SHOWN);
    expect(live.points[0]?.time).toBe(50);
    live = after({ ...live, finished: [RUN.rungs[0] as BenchRun["rungs"][0]] }, { ...line, run: "other" });
    expect([live.points.length, live.finished.length]).toEqual([1, 0]);
});

test("history names what cannot be read, and a trend leaves out what cannot be compared", async () => {
    show();
    const history = await screen.findByTestId("history");
    await within(history).findByText("Cannot read run 20261101-000000.");
    expect(within(history).getByText("degraded")).toBeDefined();
    const rung = LIST.runs[1]?.headlines[0]?.rung ?? "";
    expect(trendOf(LIST.runs, rung).map(({ run }) => run.id)).toEqual(["20261118-101502", "20261119-152210", "20261120-090311"]);
});

test("no run yet is said, not an empty table", async () => {
    golden("bench list", "empty");
    show();
    await screen.findByText("No runs yet");
    expect(screen.queryByTestId("trend")).toBeNull();
});

test("the ladder shows each rung with what it is part of, and the program's diagnosis", async () => {
    show(["benchmark", "run", RUN.id]);
    const shown = await screen.findByTestId("ladder");
    const rungs = ladder(RUN, "seq/read");
    expect(rungs.map(({ layer, target }) => `${layer}/${target}`).slice(0, 3)).toEqual(["L0/drives", "L1/array", "L1/xfs"]);
    for (const { diagnosis } of rungs) expect(shown.textContent).toContain(diagnosis);
    const tcp = rungs.find(({ target }) => target === "nfs-tcp");
    expect(tcp && rungText(tcp, false)).toMatch(/^19\.9\sGB\/s · 42% of the layer below · 99% of prediction · bottleneck: NFS threads$/);
    expect(screen.getByTestId("run-environment").textContent).toContain("not an MLPerf result");
});

test("accelerators of an imported run that were too many are not shown as supported", async () => {
    const rung = RUN.rungs.find(({ accelerators: [one] }) => one !== undefined && one.au !== null);
    const [busy] = rung?.accelerators ?? [];
    if (rung === undefined || busy === undefined) throw new Error("no measured accelerators");
    says("bench show", { ...RUN, rungs: [{ ...rung, accelerators: [{ ...busy, count: 400, au: 31 }] }] });
    show(["benchmark", "run", RUN.id]);
    const table = await screen.findByRole("grid", { name: "Accelerators" });
    expect(table.textContent).toContain("fewer than 400");
});

test("large blocks are shown as bandwidth, small ones as operations", () => {
    const unit = (id: string) => { const rung = RUN.rungs.find((one) => one.id === id); return rung && shownOf(rung)?.unit; };
    expect([unit("L1/xfs/seq/read"), unit("L1/xfs/rand/read"), unit("L1/xfs/meta/create")]).toEqual(["bytes/s", "operations/s", "operations/s"]);
    expect(workloads(RUN).map(({ id }) => id)).not.toContain("retinanet/read");
});

test("a run of an emulated server shows relations and no figure", async () => {
    golden("bench show", "emulated");
    show(["benchmark", "run", "20261120-100000"]);
    await screen.findByTestId("emulated");
    const results = screen.getByTestId("run-results").textContent + (screen.getByTestId("ladder").textContent ?? "");
    expect(results).not.toMatch(/[0-9]\s?(B|kB|MB|GB)\/s|[0-9]\s?(µs|ms)/);
    expect(results).toContain("42% of the layer below");
    expect(results).not.toContain("of prediction ·");
});

test("every chart is a table, too", async () => {
    const user = show(["benchmark", "run", RUN.id]);
    const buttons = await screen.findAllByRole("button", { name: /^Show as a table/ });
    expect(screen.getAllByRole("img", { name: /./ }).length).toBeGreaterThanOrEqual(buttons.length);
    for (const button of buttons) await user.click(button);
    expect(screen.getByRole("grid", { name: "Bandwidth by load" })).toBeDefined();
    expect(screen.getByRole("grid", { name: "Latency" })).toBeDefined();
});

test("a report is what the program writes", async () => {
    const saved = vi.spyOn(saving, "download").mockReturnValue(undefined);
    does("bench export", (call) => call.end("a spreadsheet"));
    const user = show(["benchmark", "run", RUN.id]);
    await user.click(await screen.findByRole("button", { name: "Spreadsheet (XLSX)" }));
    await waitFor(() => expect(saved.mock.calls[0]?.[0]).toBe(`millrace-${RUN.id}.xlsx`));
    expect(argv("bench export")).toEqual(["bench", "export", RUN.id, "--format", "xlsx", "-"]);
});

test("two runs stand side by side with the program's verdict", async () => {
    golden("bench compare");
    show(["benchmark", "compare", "20261118-101502", "20261120-090311"]);
    const shown = await screen.findByTestId("compared");
    await waitFor(() => expect(shown.textContent).toMatch(/GB\/s/));
    const { changes } = document<Comparison>("bench-compare.json");
    const rows = shown.querySelectorAll("tbody tr");
    expect(rows).toHaveLength(changes.length);
    expect(changes[0]?.verdict).toBe("faster");
    expect(rows[0]?.textContent).toMatch(/^L0 All drives.*faster$/);
    expect(argv("bench compare")).toEqual(["bench", "compare", "20261118-101502", "20261120-090311", "--json"]);
});

test("a comparison of servers that nobody knows shows relations only", async () => {
    golden("bench compare");
    golden("bench list", "empty");
    show(["benchmark", "compare", "20261118-101502", "20261120-090311"]);
    const shown = await screen.findByTestId("compared");
    expect(shown.textContent).not.toMatch(/GB\/s/);
    expect(shown.textContent).toMatch(/%/);
});

test("with limited access the runs can be read, and not started", async () => {
    setAdmin(false);
    show();
    await screen.findByTestId("estimate");
    expect(screen.getByRole("button", { name: "Start" }).getAttribute("aria-disabled")).toBe("true");
});

test("a run that is not there is refused in the program's words", async () => {
    refuses("bench show", "there is no run 2020: millrace bench list");
    show(["benchmark", "run", "2020"]);
    await screen.findByText("there is no run 2020: millrace bench list");
});

test("clients that were added are offered for a run, and one that is forgotten is not asked for", async () => {
    golden("bench clients list");
    const user = show();
    await user.click(await screen.findByLabelText(/^Include client gpu1/));
    await user.click(screen.getByLabelText(/^Include client 10\.77\.0\.22/));
    await waitFor(() => expect(argv("bench estimate")).toEqual(["bench", "estimate", "--quick", "--client=gpu1", "--client=10.77.0.22", "--json"]));
    const [left] = document<{ clients: object[] }>("bench-clients-list.json").clients.slice(1);
    does("bench clients remove", (call) => {
        says("bench clients list", { schema_version: 1, clients: [left] });
        call.end(JSON.stringify({ schema_version: 1, clients: [left] }));
    });
    await user.click(screen.getByRole("button", { name: "Forget gpu1" }));
    await waitFor(() => expect(argv("bench estimate")).toEqual(["bench", "estimate", "--quick", "--client=10.77.0.22", "--json"]));
    expect(started("bench clients remove")[0]?.argv).toEqual(["millrace", "bench", "clients", "remove", "gpu1", "--json"]);
});

const TOKEN = "abcd-efgh-jkmn-pqrs-2345";

test("a client that answered is in the list, and its name is asked for no more", async () => {
    does("bench clients add", (call) => { golden("bench clients list"); call.end(JSON.stringify(document("bench-clients-list.json"))); });
    const user = show();
    const panel = within(await screen.findByTestId("bench-clients"));
    await user.type(await panel.findByLabelText("Name or address of the client"), "gpu1");
    const add = panel.getByRole("button", { name: "Add the client" });
    expect(add).toHaveProperty("disabled", true);
    await user.type(panel.getByLabelText("Token"), TOKEN);
    await user.click(add);
    expect((await panel.findByRole("rowheader", { name: "gpu1 (10.77.0.21)" }))).toBeTruthy();
    expect(panel.getByLabelText("Name or address of the client")).toHaveProperty("value", "");
    expect(panel.getByLabelText("Token")).toHaveProperty("value", "");
});

test("a client that does not answer is not added, in the program's words", async () => {
    refuses("bench clients add", "gpu3 does not answer on port 8764: run millrace-bench.pyz --listen there");
    const user = show();
    const panel = within(await screen.findByTestId("bench-clients"));
    await user.type(await panel.findByLabelText("Name or address of the client"), " gpu3 ");
    await user.type(panel.getByLabelText("Token"), TOKEN);
    await user.click(panel.getByRole("button", { name: "Add the client" }));
    expect((await panel.findByTestId("error")).textContent).toContain("gpu3 does not answer on port 8764");
    // The token is a secret: on no command line.
    const [call] = started("bench clients add");
    expect(call?.argv).toEqual(["millrace", "bench", "clients", "add", "gpu3", "--token-stdin", "--json"]);
    expect(call?.input).toBe(`${TOKEN}\n`);
});

const SUBMISSION: Submission = {
    schema_version: 1, edition: "3.0", system: { path: "systems/millrace.yaml", mode: "0644", text: "system_under_test:\n" },
    unknown: ["system_under_test.total_rack_units"], free: 1e12,
    sheets: [{
        kind: "training", model: "unet3d", accelerators: 4, files: 37501, size: 5.5e12, processes: 4, fits: false,
        forecast: { accelerator: "b200", count: 4, bandwidth: 3e10, source: "predicted", text: "Forecast from the plan: 30 GB/s of reads." },
        commands: ["mlpstorage closed training unet3d datasize"], notes: [{ text: "6 runs without a pause", source: "Rules.md" }],
    }],
};

test("sizes of MLPerf Storage are asked of the program, and a forecast is marked", async () => {
    idle();
    says("share list", document("1u12-provisioned/share-list.json"));
    says("client mlperf", SUBMISSION);
    const user = show();
    const panel = within(await screen.findByTestId("mlperf"));
    const button = panel.getByRole<HTMLButtonElement>("button", { name: "Calculate" });
    expect(button.disabled).toBe(true);
    await user.type(panel.getByLabelText("Memory of one client"), "512G");
    await user.clear(panel.getByLabelText("Number of clients"));
    await user.type(panel.getByLabelText("Number of clients"), "0");
    await panel.findByText("Enter a number from 1 to 1024.");
    expect(button.disabled).toBe(true);
    await user.clear(panel.getByLabelText("Number of clients"));
    await user.type(panel.getByLabelText("Number of clients"), "2");
    await user.click(button);
    const sheet = await panel.findByTestId("mlperf-unet3d");
    expect(started("client mlperf").at(-1)?.argv.slice(1)).toEqual(["client", "mlperf", "--share=data", "--client-memory=512G",
        "--clients=2", "--accelerator=b200", "--json"]);
    expect(sheet.textContent).toContain("too large for the pool");
    expect(sheet.textContent).toContain("Forecast from the plan");
    expect(sheet.textContent).toContain("mlpstorage closed training unet3d datasize");
    expect(screen.getByTestId("mlperf").textContent).toContain("Fields to fill in: 1");
});
