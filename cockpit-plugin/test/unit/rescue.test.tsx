// SPDX-License-Identifier: Apache-2.0
/** Both drives of the log are gone: Storage leads through the rescue, each step explained and confirmed. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { App } from "../../src/app";
import type { RescueState, RescueStatus } from "../../src/types/millrace";
import { document as read } from "../documents";
import { golden, serverIs } from "../golden";
import { does, open, refuses, says, setAdmin, started, type Call } from "../mocks/cockpit";

const state = (of?: string) => read<RescueState>(`pool-rescue${of === undefined ? "" : `.${of}`}.json`);
const status = (of: string) => read<RescueStatus>(`pool-rescue-status.${of}.json`);

/** A server whose log is lost: health names the rescue. */
function logIsLost(): void {
    serverIs("1u12-degraded");
    const before = golden("1u12-degraded", "status");
    const finding = {
        check: "arrays", subject: "log", level: "FAIL" as const, key: "arrays/log", since: null,
        sentence: "Array log (RAID1) is broken: drive SN010, drive SN011 are missing.",
        todo: "Put the missing drives back in, then restart the server: systemctl reboot. If they do not come back: millrace pool rescue",
    };
    says("status", { ...before, health: { ...before.health, level: "FAIL", findings: [finding, ...before.health.findings] } });
    says("pool rescue --status", status("none"));
    says("pool rescue", state());
}

const panel = async () => within(await screen.findByTestId("rescue"));
const begin = async (title: string) => {
    await userEvent.click(await (await panel()).findByRole("button", { name: "Carry out this step…" }));
    return within(await screen.findByRole("dialog", { name: (name) => name.endsWith(title) }));
};
const step = (name: string) => screen.getByTestId("rescue").querySelector<HTMLElement>(`[data-step=${name}]`);

beforeEach(() => { open(["storage"]); logIsLost(); });

test("the rescue comes before everything else, with what may be lost before any step", async () => {
    render(<App />);
    const shown = await panel();
    await shown.findByText(/was on a mirror of SN010, SN011/);
    const text = screen.getByTestId("rescue").textContent;
    expect(text.indexOf("only in the log are lost")).toBeGreaterThan(0);
    expect(text.indexOf("only in the log are lost")).toBeLessThan(text.indexOf("Carry out this step"));
    expect(shown.getAllByRole("button", { name: "Carry out this step…" })).toHaveLength(1);
    expect(step("stop")?.getAttribute("aria-current")).toBe("step");
    const verdict = screen.getByTestId("storage-verdict");
    expect(screen.getByTestId("rescue").compareDocumentPosition(verdict) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
});

test("a server whose log is there is asked for no examination", async () => {
    serverIs("1u12-degraded");
    render(<App />);
    await screen.findByTestId("storage-verdict");
    await waitFor(() => expect(started("pool rescue --status")).toHaveLength(1));
    expect(started("pool rescue")).toHaveLength(1);
    expect(screen.queryByTestId("rescue")).toBeNull();
});

test("a step is confirmed with the typed word, by the keyboard, and goes on without the page", async () => {
    let asked: Call | undefined;
    does("pool rescue --step=stop", (call) => { asked = call; });
    render(<App />);
    const dialog = await begin("Stop serving and unmount the pool?");
    const confirm = dialog.getByRole("button", { name: "Carry out this step" });
    expect(confirm.hasAttribute("disabled")).toBe(true);
    await userEvent.type(dialog.getByLabelText("Type “yes” to confirm"), "y{Enter}");
    expect(asked).toBeUndefined();
    await userEvent.type(dialog.getByLabelText("Type “yes” to confirm"), "es{Enter}");
    await waitFor(() => expect(asked?.argv).toEqual(["millrace", "pool", "rescue", "--step=stop", "--yes", "--detach", "--json"]));
    expect(asked?.options.superuser).toBe("require");
    asked?.end(JSON.stringify(state()));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("the drives of the new log are chosen among the blank ones", async () => {
    const { drives } = golden("1u12-degraded", "drive list");
    const blank = (serial: string) => ({ ...drives[0], serial, verdict: "blank" as const, arrays: [] });
    says("drive list", { schema_version: 1, drives: [...drives, blank("N1"), blank("N2")] });
    says("pool rescue --status", status("repair"));
    says("pool rescue", state("log"));
    does("pool rescue --step=log", (call) => call.end(JSON.stringify(state("repair"))));
    render(<App />);
    const dialog = await begin("Make a new log?");
    dialog.getByText(/Without a choice: drive SN001 and drive SN002/);
    await userEvent.click(dialog.getByRole("checkbox", { name: /Blank drive N1/ }));
    await userEvent.click(dialog.getByRole("checkbox", { name: /Blank drive N2/ }));
    dialog.getByText(/used for the log alone: N1, N2/);
    await userEvent.type(dialog.getByLabelText(/to confirm/), "yes{Enter}");
    await waitFor(() => expect(started("pool rescue --step=log")[0]?.argv).toEqual(
        ["millrace", "pool", "rescue", "--step=log", "--yes", "--detach", "--with=N1", "--with=N2", "--json"]));
});

test.each([["file", ["--image=/mnt/usb/pool.metadump"]], ["none", ["--without-image"]]])("the image can be elsewhere or left out: %s", async (choice, words) => {
    says("pool rescue", { ...state(), next: "image" });
    does("pool rescue --step=image", (call) => call.end(JSON.stringify(state())));
    render(<App />);
    const dialog = await begin("Save an image of the metadata?");
    await userEvent.selectOptions(dialog.getByLabelText("Image of the metadata"), choice);
    if (choice === "file") await userEvent.type(dialog.getByLabelText(/^File/), "/mnt/usb/pool.metadump");
    await userEvent.type(dialog.getByLabelText(/to confirm/), "yes");
    await userEvent.click(dialog.getByRole("button", { name: "Carry out this step" }));
    await waitFor(() => expect(started("pool rescue --step=image")[0]?.argv.slice(6, -1)).toEqual(words));
});

test("the repair says that it cannot be undone, and what may still fail; a refusal keeps the dialog open", async () => {
    says("pool rescue --status", status("repair"));
    says("pool rescue", state("repair"));
    refuses("pool rescue --step=repair", "the rescue has ended, and nothing of the pool was changed: SN010 is present and holds the log");
    render(<App />);
    const dialog = await begin("Repair the file system without the lost log?");
    dialog.getByText(/This cannot be undone/);
    dialog.getByText(/It fails where a drive of the data cannot be read/);
    expect(within(dialog.getByRole("list", { name: "What may be lost" })).getAllByRole("listitem")).toHaveLength(3);
    await userEvent.type(dialog.getByLabelText(/to confirm/), "yes{Enter}");
    expect((await dialog.findByTestId("error")).textContent).toContain("SN010 is present and holds the log");
});

test("a step that runs is followed after a reload, and nothing else can be begun", async () => {
    const now = status("running");
    if (now.work === null || now.rescue === null) throw new Error("nothing runs");
    const work = { ...now.work, line: "Phase 3 - for each AG...", progress: 2 / 7 };
    says("pool rescue --status", { ...now, work });
    render(<App />);
    const shown = await panel();
    expect((await shown.findByTestId("progress")).textContent).toContain("Phase 3 - for each AG...");
    shown.getByText(/Confirmed by admin .* continues when this page is closed/);
    expect(shown.queryByRole("button", { name: "Carry out this step…" })).toBeNull();
    expect(started("pool rescue").filter(({ argv }) => !argv.includes("--status"))).toHaveLength(0);
});

test("a step that was killed says so and can be carried out again", async () => {
    const now = status("interrupted");
    says("pool rescue --status", now);
    says("pool rescue", { ...state("repair"), work: now.work });
    render(<App />);
    const stopped = await screen.findByTestId("rescue-stopped");
    expect(stopped.textContent).toContain("it was ended from outside");
    await begin("Repair the file system without the lost log?");
});

test("a rescue that is not possible says what to do instead", async () => {
    refuses("pool rescue", "SN010 is present and holds the log: nothing is lost. Start it: systemctl restart millrace-assemble");
    says("pool rescue --status", status("none"));
    render(<App />);
    expect((await (await panel()).findByTestId("error")).textContent).toContain("nothing is lost. Start it");
    expect(screen.queryByRole("button", { name: "Carry out this step…" })).toBeNull();
});

test("after the last step the page says what is left to do", async () => {
    says("pool rescue --status", status("ended"));
    render(<App />);
    const done = await screen.findByTestId("rescued");
    expect(done.textContent).toContain("Compare what was written in the last minutes");
    expect(done.textContent).toContain("Keep /var/lib/millrace/rescue-20260901T120000Z.metadump");
    expect(screen.queryByTestId("rescue")).toBeNull();
    await userEvent.click(within(done).getByRole("button", { name: /[Cc]lose/ }));
    expect(screen.queryByTestId("rescued")).toBeNull();
});

test("without administrative access it is said, and nothing is asked as root", async () => {
    setAdmin(false);
    render(<App />);
    await (await panel()).findByText(/require administrative access/);
    expect(started("pool rescue")).toHaveLength(0);
});
