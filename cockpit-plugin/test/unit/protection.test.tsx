// SPDX-License-Identifier: Apache-2.0
/** The copies of all shares by place, who may see them, and the page of one share. */
import { render, screen, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { StatusProvider } from "../../src/lib/status";
import Protection from "../../src/pages/protection";
import type { Light } from "../../src/types/millrace";
import { document, golden } from "../documents";
import { does, open, says, setAdmin, started } from "../mocks/cockpit";

const STATUS = { schema_version: 1, health: { level: "OK", findings: [] }, pool: {}, space: null, shares: [], jobs: [] };
const [MODELS] = document<{ shares: { share: string; lights: Light[] }[] }>("protection-show.json").shares;

const lit = (place: Light["place"], change: Partial<Light>): Light => ({
    share: "models", place, state: "ok", schedule: "every 15 minutes", last: "2026-11-20T12:00:00+00:00", period: 900, next: null, drill: null,
    sentence: `It is so at the place ${place}.`, todo: null, ...change,
});

beforeEach(() => {
    says("status", STATUS);
    golden("protection show");
    open(["protection"]);
});

function show(path: string[] = ["protection"]): void {
    open(path);
    render(<StatusProvider><Protection /></StatusProvider>);
}

const cells = async (share: string) => {
    const row = (await screen.findByTestId("protection")).querySelector(`[data-row="${share}"]`);
    return [...row?.querySelectorAll("[data-place]") ?? []].map((cell) => cell.textContent ?? "");
};

test("each share stands with its three places, in words", async () => {
    show();
    await screen.findByRole("link", { name: "models" });
    expect((await cells("models"))[0]).toMatch(/^In time.* old$/);
    expect((await cells("models")).slice(1)).toEqual(["Not set up", "Not set up"]);
    expect((await cells("backup"))[0]).toMatch(/^Late/);
    expect(await cells("home")).toEqual(["Not set up", "Not set up", "Not set up"]);
});

test("every state of a copy has its word", async () => {
    const lights = [lit("here", { state: "running" }), lit("second-server", { state: "failed" }), lit("off-site", { state: "none", last: null })];
    says("protection show", { schema_version: 1, shares: [{ share: "models", lights }] });
    show();
    await screen.findByRole("link", { name: "models" });
    const words = await cells("models");
    expect(words.map((text) => text.replace(/\d.*/u, ""))).toEqual(["Running", "Failed", "No copy yet"]);
});

test("a paused copy and one of another server are set up", async () => {
    const lights = [
        lit("here", { state: "none", schedule: null, period: null, last: null, sentence: "No schedule of snapshots has been set for share models." }),
        lit("second-server", { state: "none", schedule: null, period: null, last: null, sentence: "10.0.0.9 may keep a replica of share models." }),
        lit("off-site", { state: "none", schedule: null, last: null, sentence: "Backup offsite is paused." }),
    ];
    says("protection show", { schema_version: 1, shares: [{ share: "models", lights }] });
    show();
    await screen.findByRole("link", { name: "models" });
    expect(await cells("models")).toEqual(["Not set up", "On the other server", "Paused"]);
});

test("a server without shares leads to them", async () => {
    says("protection show", { schema_version: 1, shares: [] });
    show();
    expect(await screen.findByText("Go to shares")).toBeDefined();
});

test("limited access shows why there is nothing", async () => {
    setAdmin(false);
    show();
    expect(await screen.findByText("Showing copies of shares requires administrative access.")).toBeDefined();
    expect(started("protection show")).toEqual([]);
});

test("a viewer sees the copies and may change nothing", async () => {
    golden("access who", "viewer");
    setAdmin(false);
    says("share show", { schema_version: 1, share: document<{ shares: { name: string }[] }>("share-list.json").shares.find(({ name }) => name === "models") });
    says("snapshot list", { schema_version: 1, problem: null, snapshots: [] });
    does("protection show", (call) => call.end(JSON.stringify({ schema_version: 1, shares: [MODELS] })));
    show(["protection", "models"]);
    const here = within(await screen.findByTestId("light-here"));
    expect(here.getByText("24 hourly, 14 daily")).toBeDefined();
    const schedule = await screen.findByRole("button", { name: "Schedule" });
    expect(schedule.getAttribute("aria-disabled")).toBe("true");
});

test("the page of a share has the last drill and what to do", async () => {
    const lights = [
        lit("here", { next: "2020-01-01T00:00:00+00:00" }),
        lit("second-server", { state: "late", todo: "millrace replica status" }),
        lit("off-site", { drill: "2026-11-19T12:00:00+00:00" }),
    ];
    says("protection show", { schema_version: 1, shares: [{ share: "models", lights }] });
    says("share show", { schema_version: 1, share: document<{ shares: { name: string }[] }>("share-list.json").shares.find(({ name }) => name === "models") });
    says("snapshot list", { schema_version: 1, problem: null, snapshots: [] });
    show(["protection", "models"]);
    expect(within(await screen.findByTestId("light-here")).getByText("due now")).toBeDefined();
    const replica = within(screen.getByTestId("light-second-server"));
    expect(replica.getByText("millrace replica status")).toBeDefined();
    expect(replica.getByText("never")).toBeDefined();
    expect(within(screen.getByTestId("light-off-site")).getByText(/^Nov 19, 2026/)).toBeDefined();
    expect(within(screen.getByTestId("light-here")).queryByText("Last restore drill")).toBeNull();
});
