// SPDX-License-Identifier: Apache-2.0
/** The checks of the pool on the page Storage. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { App } from "../../src/app";
import type { Retirement, ScrubStatus } from "../../src/types/millrace";
import { golden, serverIs } from "../golden";
import { does, open, refuses, says, setAdmin, started } from "../mocks/cockpit";

const DAY = 86_400_000;

beforeEach(() => { open(["storage"]); serverIs("1u12-degraded"); });

const status = (): ScrubStatus => golden("1u12-degraded", "pool scrub status");
const RUNNING = (): ScrubStatus => {
    const found = status();
    return {
        ...found,
        round: { started: "2026-11-22T01:00:00+00:00", by: "policy" },
        arrays: found.arrays.map((one) => (one.kept.array !== "data" ? one
            : { ...one, sync: { action: "check", progress: 0.25, bytes_per_second: 205_000_000, seconds_left: 7200 } })),
    };
};
const panel = () => screen.findByTestId("scrub");
const row = async (name: RegExp) => within(await panel()).getByRole("row", { name }).textContent;

test("window, next check, result and age of each array and of the file system", async () => {
    const ended = new Date(Date.now() - 9 * DAY).toISOString();
    const found = status();
    says("pool scrub status", {
        ...found,
        arrays: found.arrays.map((one) => ({ ...one, kept: { ...one.kept, last: one.kept.last && { ...one.kept.last, ended } } })),
        filesystem: { started: ended, ended, seconds: 60, problem: null },
    });
    render(<App />);
    await screen.findByRole("row", { name: /Array data/ });
    const text = (await panel()).textContent;
    expect(text).toContain("every month, Sun 01:00-07:00");
    expect(text).toMatch(/Next checkDec 1[23], 2026/);
    expect(text).toContain("1.02\u00a0MB/s of each drive beside clients, 205\u00a0MB/s at most");
    expect(screen.queryByTestId("scrub-period")).toBeNull();
    expect(await row(/Array data/)).toContain("9 days16 sectors do not match76.8\u00a0TB");
    expect(await row(/Array log/)).toContain("9 daysno mismatch");
    expect(await row(/File system/)).toContain("9 dayssound");
});

test("a period that cannot be kept is shown with what to change", async () => {
    const problem = "Arrays are checked once in 16 weeks, not every month. Change the policy: scrub.window = \"daily 01:00-07:00\".";
    const pace = { least_kib: 200_000, most_kib: 200_000, windows: 16, days: 112, kept: false, todo: null };
    says("pool scrub status", { ...status(), pace, problem });
    render(<App />);
    expect((await screen.findByTestId("scrub-period")).textContent).toContain(problem);
    expect((await panel()).textContent).toContain("Rate205\u00a0MB/s of each drive");
});

test("what was never checked is not known, and not healthy", async () => {
    const found = status();
    says("pool scrub status", { ...found, every: "never", next: null, arrays: found.arrays.map((one) => ({ ...one, kept: { ...one.kept, last: null } })) });
    render(<App />);
    await screen.findByRole("row", { name: /Array data/ });
    expect(within(await panel()).queryByText("no mismatch")).toBeNull();
    expect(within(await panel()).getAllByText("not checked yet")).toHaveLength(3);
    expect((await panel()).textContent).toContain("checks are started by hand");
});

test("a check is started as root, followed and stopped", async () => {
    does("pool scrub start", (call) => { says("pool scrub status", RUNNING()); call.end(JSON.stringify(RUNNING())); });
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Check now" }));
    await waitFor(async () => expect(await row(/Array data/)).toContain("2 hours left"));
    expect(started("pool scrub start")[0]?.options.superuser).toBe("require");
    const stopped: ScrubStatus = {
        ...RUNNING(),
        arrays: status().arrays.map((one) => (one.kept.array !== "data" ? one : { ...one, kept: { ...one.kept,
            under_way: { started: "2026-11-22T01:00:00+00:00", sector: 250, sectors: 1000, seconds: 60, mismatches: 0, least: null, most: null, ranges: [], floor_kib: 1000 } } })),
        stopped: { at: "2026-11-22T02:00:00+00:00", by: "administrator", reason: "an administrator stopped it" },
    };
    does("pool scrub stop", (call) => { says("pool scrub status", stopped); call.end(JSON.stringify(stopped)); });
    await userEvent.click(screen.getByRole("button", { name: "Stop check" }));
    expect(await screen.findByRole("button", { name: "Continue check" })).toBeTruthy();
    expect((await panel()).textContent).toContain("an administrator stopped it");
    expect(await row(/Array data/)).toContain("waits at 25%");
});

test("a round that the policy ended waits for nothing", async () => {
    says("pool scrub status", {
        ...RUNNING(),
        round: null,
        arrays: status().arrays.map((one) => (one.kept.array !== "data" ? one : { ...one, kept: { ...one.kept,
            under_way: { started: "2026-11-22T01:00:00+00:00", sector: 250, sectors: 1000, seconds: 60, mismatches: 0, least: null, most: null, ranges: [], floor_kib: 1000 } } })),
        stopped: { at: "2026-11-22T02:00:00+00:00", by: "administrator", reason: "the policy has every = never" },
    });
    render(<App />);
    expect(await row(/Array data/)).toContain("ended at 25%");
    expect((await panel()).textContent).toMatch(/Ended early .*: the policy has every = never/);
    expect(screen.getByRole("button", { name: "Check now" })).toBeTruthy();
});

test("a check that cannot be started says why", async () => {
    refuses("pool scrub start", "array data is degraded: replace the drive first");
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Check now" }));
    expect((await within(await panel()).findByTestId("error")).textContent).toContain("array data is degraded: replace the drive first");
});

test("without administrative access a check is shown and cannot be started", async () => {
    setAdmin(false);
    render(<App />);
    const button = await screen.findByRole("button", { name: "Check now" });
    expect(button.getAttribute("aria-disabled")).toBe("true");
    await userEvent.click(button);
    expect(started("pool scrub start")).toHaveLength(0);
});

test("files in doubt are named, and a repair is explained and confirmed", async () => {
    const found = status();
    const wrong = ["which drive is wrong is not known: only RAID6 has two parities, which locate a wrong block"];
    says("pool scrub status", { ...found, arrays: found.arrays.map((one) => ({ ...one, wrong: one.wrong.length > 0 ? wrong : [], restorable: 0 })) });
    does("pool scrub repair data --yes", (call) => { call.end(JSON.stringify(status())); });
    render(<App />);
    const differs = within(await screen.findByTestId("differs-data"));
    expect(differs.getByText("2 files are in doubt:")).toBeTruthy();
    expect(differs.getByText("data/corpus/shard-0007.tar")).toBeTruthy();
    expect(differs.getByText(/which drive is wrong is not known/)).toBeTruthy();
    await userEvent.click(differs.getByRole("button", { name: "Repair…" }));
    const dialog = within(await screen.findByTestId("confirm"));
    expect(dialog.getByText(/restores no data/)).toBeTruthy();
    expect(dialog.getByText("data/models/seven.safetensors")).toBeTruthy();
    expect(started("pool scrub repair")).toHaveLength(0);
    await userEvent.click(dialog.getByRole("button", { name: "Repair sectors" }));
    await waitFor(() => expect(started("pool scrub repair")[0]?.options.superuser).toBe("require"));
    await waitFor(() => expect(screen.queryByTestId("confirm")).toBeNull());
});

test.each([
    ["Restore the wrong blocks from the other drives", "--write-back"],
    ["Keep the data as they are", "--keep-data"],
])("where the wrong drive is known, it is named and a choice is made: %s", async (choice, option) => {
    does(`pool scrub repair data --yes ${option}`, (call) => { call.end(JSON.stringify(status())); });
    render(<App />);
    const differs = within(await screen.findByTestId("differs-data"));
    expect(differs.getByText(/16 sectors of data are wrong on bay/)).toBeTruthy();
    await userEvent.click(differs.getByRole("button", { name: "Repair…" }));
    const dialog = within(await screen.findByTestId("confirm"));
    expect(dialog.getByRole<HTMLButtonElement>("button", { name: "Repair sectors" }).disabled).toBe(true);
    await userEvent.click(dialog.getByRole("radio", { name: choice }));
    await userEvent.click(dialog.getByRole("button", { name: "Repair sectors" }));
    await waitFor(() => expect(screen.queryByTestId("confirm")).toBeNull());
    expect(started("pool scrub repair")).toHaveLength(1);
});

test("a repair that is confirmed is not offered again, and one that ended is shown", async () => {
    const found = status();
    const repaired = { ended: "2026-11-22T02:00:00+00:00", rewritten: 16, left: 0 };
    says("pool scrub status", { ...found, arrays: found.arrays.map((one) => (one.kept.array === "data"
        ? { ...one, files: null, kept: { ...one.kept, repair: { asked: repaired.ended, ranges: [], rewritten: 0, least: null, most: null } } }
        : { ...one, kept: { ...one.kept, repaired, retired: [{ begin: 16, end: 24 }] } })) });
    render(<App />);
    const differs = within(await screen.findByTestId("differs-data"));
    expect(differs.getByText("The files in doubt are still being searched for.")).toBeTruthy();
    expect(differs.queryByRole("button")).toBeNull();
    expect((await panel()).textContent).toContain("Array log was repaired");
    expect((await panel()).textContent).toContain("8 sectors of each member are lost and retired");
});

const LOST = (): ScrubStatus => {
    const found = status();
    return { ...found, arrays: found.arrays.map((one) => (one.kept.array === "data" ? { ...one, lost: 16 } : one)) };
};
const SURVEY: Retirement = { schema_version: 1, sectors: 128, retired: 0, unreadable: ["data/corpus/seven.tar"], readable: ["data/models/nine"], left: [] };
const retireDialog = async () => {
    await userEvent.click(await screen.findByRole("button", { name: "Retire…" }));
    return within(await screen.findByTestId("confirm"));
};
/** The one of the dialog's own buttons: its cross closes it, too. */
const press = (name: string) => userEvent.click(screen.getAllByRole("button", { name }).at(-1) ?? document.body);

test("lost areas are retired after their files are named and the word is typed", async () => {
    says("pool scrub status", LOST());
    says("pool scrub retire --dry-run", SURVEY);
    does("pool scrub retire --yes", (call) => { says("pool scrub status", status()); call.end(JSON.stringify({ ...SURVEY, retired: 120, left: ["data/corpus/seven.tar: data are lost"] })); });
    render(<App />);
    expect((await screen.findByTestId("lost")).textContent).toContain("Array data: 16 sectors of each member.");
    const dialog = await retireDialog();
    expect(await dialog.findByText("data/corpus/seven.tar")).toBeTruthy();
    expect(dialog.getByText("data/models/nine")).toBeTruthy();
    const button = dialog.getByRole<HTMLButtonElement>("button", { name: "Retire areas" });
    expect(button.disabled).toBe(true);
    await userEvent.type(dialog.getByLabelText("Type “yes” to confirm"), "yes");
    await press("Retire areas");
    expect(await screen.findByText("120 of 128 sectors are retired.")).toBeTruthy();
    expect(screen.getByText("data/corpus/seven.tar: data are lost")).toBeTruthy();
    expect(started("pool scrub retire --yes")[0]?.options.superuser).toBe("require");
    await press("Close");
    await waitFor(() => expect(screen.queryByTestId("lost")).toBeNull());
});

test("data are given up only where that is ticked", async () => {
    says("pool scrub status", LOST());
    says("pool scrub retire --dry-run", SURVEY);
    does("pool scrub retire --zero-files --yes", (call) => { call.end(JSON.stringify({ ...SURVEY, retired: 128 })); });
    render(<App />);
    const dialog = await retireDialog();
    await userEvent.click(await dialog.findByLabelText(/read as zeros/));
    await userEvent.type(dialog.getByLabelText("Type “yes” to confirm"), "yes{Enter}");
    expect(await screen.findByText("The lost areas are retired")).toBeTruthy();
});

test("what cannot be retired now says why and offers nothing", async () => {
    says("pool scrub status", LOST());
    refuses("pool scrub retire --dry-run", "nothing is retired now: array data is degraded");
    render(<App />);
    const dialog = await retireDialog();
    expect((await dialog.findByTestId("error")).textContent).toContain("array data is degraded");
    expect(dialog.getByRole<HTMLButtonElement>("button", { name: "Retire areas" }).disabled).toBe(true);
});

test("without lost areas nothing is offered", async () => {
    render(<App />);
    await screen.findByRole("row", { name: /Array data/ });
    expect(screen.queryByRole("button", { name: "Retire…" })).toBeNull();
});
