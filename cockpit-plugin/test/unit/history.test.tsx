// SPDX-License-Identifier: Apache-2.0
/** What the server kept over time is drawn with its scale, and a page shows what it knows although one answer is missing. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { App } from "../../src/app";
import { timeTicks, valueWord } from "../../src/lib/history";
import { bayCount } from "../../src/pages/overview/Bays";
import { newest } from "../../src/pages/overview/figures";
import { golden, serverIs } from "../golden";
import { does, open, says, started } from "../mocks/cockpit";

const ALL = "1u12-provisioned";

test("sparklines are filled from the history at once, and have a scale", async () => {
    serverIs(ALL);
    render(<App />);
    const nfs = await screen.findByTestId("rate-nfs");
    await waitFor(() => expect(within(nfs).getByRole("img").getAttribute("aria-label")).toContain("in the last hour"));
    await waitFor(() => expect(nfs.querySelectorAll(".mr-spark-line").length).toBeGreaterThan(0));
    expect(nfs.querySelector(".mr-spark-scale")?.textContent).toContain("MB/s");
});

test("charts of the history have lines, a legend and a table, and another span is asked for", async () => {
    serverIs(ALL);
    const user = userEvent.setup({ delay: null });
    render(<App />);
    const panel = within(await screen.findByTestId("history"));
    expect(await panel.findByRole("button", { name: "Show as a table: NFS" })).toBeTruthy();
    expect(panel.getAllByLabelText(/^Read: .* now, .* mean, .* peak/).length).toBeGreaterThan(0);
    await user.click(panel.getByRole("button", { name: "Show as a table: NFS" }));
    expect(within(panel.getByRole("grid", { name: "NFS" })).getByText("Read")).toBeTruthy();
    await user.selectOptions(panel.getByLabelText("Span of History"), "30d");
    await waitFor(() => expect(started("history").some(({ argv }) => argv.includes("30d"))).toBe(true));
});

test("without values the page says that nothing has been kept, and why", async () => {
    serverIs(ALL);
    says("history", { ...golden(ALL, "history"), series: [], forecast: null, notes: ["nothing has been kept since this server was started"] });
    render(<App />);
    const panel = await screen.findByTestId("history");
    await waitFor(() => expect(panel.textContent).toContain("Nothing has been kept in this span yet."));
    expect(panel.textContent).toContain("since this server was started");
});

test("a status that does not come leaves the rest of the page", async () => {
    serverIs(ALL);
    does("status", (call) => call.fail({ problem: "timeout", message: "timeout" }));
    render(<App />);
    expect((await screen.findByTestId("error")).textContent).toContain("status");
    expect(await screen.findByTestId("rate-nfs")).toBeTruthy();
    expect(await screen.findByTestId("bays")).toBeTruthy();
    expect(await screen.findByTestId("clients")).toBeTruthy();
    expect(await screen.findByTestId("network")).toBeTruthy();
});

test("bays are in their places with words, and empty ones are there", async () => {
    serverIs("1u12-degraded");
    render(<App />);
    const bays = await screen.findByTestId("bays");
    const places = bays.querySelectorAll("ol > li");
    expect(places).toHaveLength(12);
    expect(places[3]?.textContent).toContain("missing");
    expect(within(bays).getByRole("link", { name: /^Bay 4: MRD00000000004, .*missing/ })).toBeTruthy();
});

test("a front has 12 or 24 bays, or as many as there are, and none without numbers", () => {
    const row = (bay: string | null) => ({ ...golden(ALL, "drive list").drives[0], bay }) as Parameters<typeof bayCount>[0][number];
    expect(bayCount([row("3")])).toBe(12);
    expect(bayCount([row("1"), row("13")])).toBe(24);
    expect(bayCount([row("36")])).toBe(36);
    expect(bayCount([row(null), row("Slot 7")])).toBe(0);
});

test("the clients and their counts are of one answer", async () => {
    serverIs(ALL);
    const list = golden(ALL, "session list");
    const [one] = list.sessions;
    says("session list", { ...list, warnings: [], sessions: Array.from({ length: 9 }, (_none, number) => ({ ...one, protocol: "nfs", host: `10.0.0.${number}`, name: `gpu${number}` })) });
    render(<App />);
    const panel = await screen.findByTestId("clients");
    await waitFor(() => expect(panel.textContent).toContain("9 clients"));
    expect(within(panel).getAllByRole("listitem")).toHaveLength(6);
    expect(panel.textContent).toContain("and 3 more");
    expect(panel.textContent).not.toContain("NFS over TCP");
});

test("storage shows the plan in force, readable, and the forecast", async () => {
    serverIs(ALL);
    open(["storage"]);
    const user = userEvent.setup({ delay: null });
    render(<App />);
    const plan = within(await screen.findByTestId("plan-in-force"));
    expect((await plan.findByText(/RAID6 of 10 drives/)).tagName).toBe("STRONG");
    await user.click(plan.getByRole("button", { name: "All decisions with their reasons" }));
    expect(plan.getByTestId("decisions")).toBeTruthy();
    expect((await screen.findByTestId("storage-history")).textContent).toContain("not enough history for a forecast");
});

test("values have the units of the page, and what is not known is a dash", () => {
    expect([valueWord(0.25, "ratio"), valueWord(41, "celsius"), valueWord(null, "bytes/s")]).toEqual(["25%", "41 °C", "–"]);
    const report = golden(ALL, "history");
    expect(timeTicks(report).map(({ at }) => at)).toHaveLength(4);
    expect(newest(undefined, 5)).toEqual({ points: [], now: 5, most: 5 });
    expect(newest(undefined, undefined)).toEqual({ points: [], now: null, most: null });
});
