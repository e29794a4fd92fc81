// SPDX-License-Identifier: Apache-2.0
/** A person reads the plan, approves exactly it, and watches it become a pool. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { App } from "../../src/app";
import type { Plan } from "../../src/types/millrace";
import { golden, goldenLines, serverIs } from "../golden";
import { does, open, says, setAdmin, started, type Call } from "../mocks/cockpit";

beforeEach(() => open(["storage"]));

const SHA = golden("1u12-blank", "plan").sha256 ?? "";
const plan = (): Plan => golden("1u12-blank", "plan").proposal as Plan;

test("the plan is shown with every decision, its reason and its source", async () => {
    serverIs("1u12-blank");
    render(<App />);
    const decisions = await screen.findByTestId("decisions");
    for (const one of plan().decisions) {
        const row = decisions.querySelector(`[data-decision="${one.name}"]`);
        expect(row?.textContent).toContain(one.reason);
        expect(row?.textContent).toContain(one.source);
    }
    expect(screen.getByTestId("plan-hash").textContent).toBe(SHA);
    expect(screen.getByTestId("erased").textContent).toContain("Nothing. All 12 drives that are used are blank");
});

test("limits are limits: what nobody measured is said to be not known", async () => {
    serverIs("1u12-blank");
    render(<App />);
    const row = within(await screen.findByTestId("prediction")).getAllByRole("row", { name: /Write, NFS over TCP healthy/ })[0];
    expect(row?.textContent).toContain("at most 25\u00a0GB/s");
    expect(row?.textContent).toContain("memory, CPU, RAID");
});

test("where nothing is known, no figure is shown", async () => {
    serverIs("1u12-blank");
    const outcomes = plan().prediction?.outcomes.map((one) => ({ ...one, limit: null, bound_by: null })) ?? [];
    says("plan", { ...golden("1u12-blank", "plan"), proposal: { ...plan(), prediction: { outcomes } } });
    render(<App />);
    const rows = within(await screen.findByRole("grid", { name: "Predicted limits" })).getAllByRole("row").slice(1);
    expect(rows.every((row) => row.textContent.includes("unknown") && !row.textContent.includes("B/s"))).toBe(true);
});

test("approving is bound to the hash, as root, and is followed to the pool", async () => {
    serverIs("1u12-blank");
    let approving: Call | undefined;
    does("approve", (call) => { approving = call; });
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Approve…" }));
    const dialog = await screen.findByRole("dialog", { name: "Approve this plan?" });
    expect(within(dialog).getByTestId("erased-sentence").textContent).toContain("Nothing.");
    expect(dialog.textContent).toContain(SHA);
    expect(started("approve")).toHaveLength(0);
    await userEvent.click(within(dialog).getByRole("button", { name: "Approve and build" }));
    await waitFor(() => expect(approving).toBeDefined());
    expect(approving?.argv).toEqual(["millrace", "approve", SHA, "--json"]);
    expect(approving?.options.superuser).toBe("require");

    const lines = goldenLines("1u12-building", "approve").map((line) => JSON.stringify(line));
    approving?.print(`${lines.slice(0, 9).join("\n")}\n`);
    const building = await screen.findByTestId("building");
    await waitFor(() => expect(building.textContent).toContain("Now: partition MRD00000000008"));
    serverIs("1u12-provisioned");
    approving?.end(`${lines.slice(9).join("\n")}\n`);
    expect(await screen.findByTestId("array-data")).toBeTruthy();
});

test("a plan that changed while it was read is not approved", async () => {
    serverIs("1u12-blank");
    does("approve", (call) => call.fail({ exit_status: 1, message: "millrace: The plan is another one now: read it again." }));
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Approve…" }));
    await userEvent.click(await screen.findByRole("button", { name: "Approve and build" }));
    expect((await screen.findByTestId("error")).textContent).toContain("The plan is another one now: read it again.");
    expect(screen.getByRole("button", { name: "Approve…" })).toBeTruthy();
});

test("a build that was begun elsewhere is followed, too", async () => {
    serverIs("1u12-building");
    render(<App />);
    const building = await screen.findByTestId("building");
    expect(building.textContent).toContain("Now:");
    expect(screen.queryByRole("button", { name: "Approve…" })).toBeNull();
});

test("who may not approve sees the plan, and why the button does nothing", async () => {
    serverIs("1u12-blank");
    setAdmin(false);
    render(<App />);
    const button = await screen.findByRole("button", { name: "Approve…" });
    expect(button.getAttribute("aria-disabled")).toBe("true");
    await userEvent.click(button);
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(screen.getByTestId("limited-access")).toBeTruthy();
});

test("a refusal says what is in the way and what to do", async () => {
    serverIs("empty");
    render(<App />);
    const shown = await screen.findByTestId("plan");
    expect(shown.dataset.level).toBe("FAIL");
    expect(shown.textContent).toContain("This server has no NVMe drives for a pool.");
    expect(shown.textContent).toContain("Check that the drives are seated and powered.");
});

test("after drives were exchanged the server looks again, and its new plan is shown", async () => {
    serverIs("empty");
    does("plan", (call) => {
        if (!call.argv.includes("--again")) return void call.fail({ exit_status: 1 }, JSON.stringify(golden("empty", "plan")));
        expect(call.options.superuser).toBe("require");
        says("plan", golden("1u12-blank", "plan"));
        call.end(JSON.stringify(golden("1u12-blank", "plan")));
    });
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Rescan drives" }));
    expect((await screen.findByTestId("plan-hash")).textContent).toBe(SHA);
});

test("drives that hold something are never called blank", async () => {
    serverIs("1u12-blank");
    const drives = plan().drives.map((one, index) => (index === 0 ? { ...one, state: "foreign" as const } : one));
    says("plan", { ...golden("1u12-blank", "plan"), proposal: { ...plan(), drives } });
    render(<App />);
    expect((await screen.findByTestId("erased")).textContent).toContain("not blank: MRD00000000001");
});

test("a plan on an external device names it where arrays would be", async () => {
    serverIs("1u12-blank");
    const filesystem = { ...plan().filesystem, device: "/dev/disk/by-id/nvme-VOL", log_device: null };
    says("plan", { ...golden("1u12-blank", "plan"), proposal: { ...plan(), backend: "external", arrays: [], filesystem } });
    render(<App />);
    const built = await screen.findByTestId("built");
    expect(built.textContent).toContain("File system to be built");
    expect(built.textContent).toContain("/dev/disk/by-id/nvme-VOL");
    expect(built.textContent).not.toContain("RAID");
});

test("a pool on an external device shows that device and where its log is", async () => {
    serverIs("1u12-provisioned");
    const backends = [
        { serial: "VOL", role: "data" as const, device: "vda1", size: 1 },
        { serial: "VLOG", role: "log" as const, device: null, size: 1 },
    ];
    says("pool show", { ...golden("1u12-provisioned", "pool show"), arrays: [], backends });
    render(<App />);
    const shown = await screen.findByTestId("filesystem");
    expect(shown.textContent).toContain("external deviceVOL vda1");
    expect(shown.textContent).toContain("external deviceVLOG missing");
    expect(shown.textContent).toContain("log of 1.99\u00a0GiB on its own device");
    expect(screen.queryByTestId("array-data")).toBeNull();
});

test("the pool: arrays, members by bay, what may still fail, the rebuild with its speed and estimate", async () => {
    serverIs("1u12-rebuilding");
    render(<App />);
    const array = await screen.findByTestId("array-data");
    expect(array.textContent).toContain("degraded: 1 member missing");
    expect(array.textContent).toContain("Survives 1 more drive failure.");
    expect(array.textContent).toContain("63 minutes left · 1.54\u00a0GB/s");
    expect(screen.getByTestId("storage-verdict").textContent).toContain("is missing; it survives 1 more failure; rebuild at 25 %");
    const members = within(array).getAllByRole("listitem");
    expect(members).toHaveLength(11);
    expect(array.querySelector('[data-serial="MRD00000000004"]')?.textContent).toContain("missing");
    expect(screen.getByTestId("filesystem").textContent).toContain("1.99\u00a0GiB on array log");
    expect(within(screen.getByTestId("usage")).getByRole("meter", { name: "Usage of models" }).getAttribute("aria-valuetext"))
        .toBe("6.6\u00a0TB of 11\u00a0TB (60%)");
});

test("an array shows when it was checked and what did not match", async () => {
    serverIs("1u12-degraded");
    render(<App />);
    const data = await screen.findByTestId("array-data");
    expect(data.textContent).toMatch(/Last check ended .*: 16 sectors do not match, 76\.8\u00a0TB read\./);
    expect((await screen.findByTestId("array-log")).textContent).toMatch(/Last check ended .*: no mismatch, /);
    expect(screen.getByTestId("storage-verdict").textContent).toContain("found 16 sectors where data and parity do not match");
});

test("an array that was never checked says so", async () => {
    serverIs("1u12-provisioned");
    render(<App />);
    expect((await screen.findByTestId("array-data")).textContent).toContain("Not checked yet.");
});

test("what the kernel does not say is not known, and not healthy", async () => {
    serverIs("1u12-provisioned");
    const pool = golden("1u12-provisioned", "pool show");
    says("pool show", {
        ...pool,
        arrays: pool.arrays.map((one) => ({ ...one, degraded: null, may_fail: null })),
        shares: pool.shares.map((one) => ({ ...one, used: null })),
    });
    render(<App />);
    const array = await screen.findByTestId("array-data");
    expect(array.querySelector('[data-level="UNKNOWN"]')?.textContent).toContain("state unknown");
    expect(array.textContent).not.toContain("healthy");
    expect(screen.getByTestId("usage").textContent).toContain("unknown");
});

test("every drive has a row with bay, verdict and what it said last", async () => {
    serverIs("1u12-degraded");
    render(<App />);
    const table = within(await screen.findByTestId("drives-list"));
    const cells = (serial: string) => within(table.getByRole("row", { name: new RegExp(serial) })).getAllByRole("cell").map(({ textContent }) => textContent);
    expect(table.getAllByRole("row")).toHaveLength(1 + golden("1u12-degraded", "drive list").drives.length);
    expect(cells("MRD00000000004").slice(1, -1)).toEqual(["7.68\u00a0TB", "data", "missing", "–", "3%"]);
    expect(cells("MRD00000000005").slice(1, -1)).toEqual(["7.68\u00a0TB", "data", "in sync", "40 °C", "3%"]);
});

test("firmware, spare, media errors, age, the lock and the day on which a drive was seen last are one click away", async () => {
    serverIs("1u12-degraded");
    const { drives } = golden("1u12-degraded", "drive list");
    says("drive list", { schema_version: 1, drives: drives.map((one) => (one.serial !== "MRD00000000004" ? { ...one, spare_percent: null, media_errors: null }
        : { ...one, firmware: "GDC5602Q", spare_percent: 97, media_errors: 12, power_on_hours: 26_280, opal: "locked", last_seen: "2026-11-19" })) });
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Firmware, errors and age" }));
    const table = within(await screen.findByTestId("drives-records"));
    const cells = (serial: string) => within(table.getByRole("row", { name: new RegExp(serial) })).getAllByRole("cell").map(({ textContent }) => textContent);
    expect(cells("MRD00000000004")).toEqual(["MRD00000000004", "GDC5602Q", "97%", "12", "26,280", "yes (Opal), locked", "Nov 19, 2026"]);
    expect(cells("MRD00000000005").slice(2, 4)).toEqual(["–", "–"]);
    expect(cells("MRD00000000005").at(-2)).toBe("no, or not reported");
});

test("a drive says why it is no replacement, and when it is worn out", async () => {
    serverIs("1u12-provisioned");
    const [first, ...rest] = golden("1u12-provisioned", "drive list").drives;
    if (first === undefined) throw new Error("a server without drives");
    const drives = [
        { ...first, wear_percent: 80, wear_ends: "2027-03-01" },
        ...rest.slice(0, 1).map((one) => ({ ...one, verdict: "too small" as const, too_small_by: 12_000_000_000, role: "none" as const })),
        ...rest.slice(1, 2).map((one) => ({ ...one, verdict: "foreign" as const, what: "XFS file system", wear_percent: null, needs_bytes: null })),
        ...rest.slice(2, 3).map((one) => ({ ...one, verdict: "unknown" as const, what: null, size_bytes: null })),
        ...rest.slice(3, 4).map((one) => ({ ...one, what: "not in array log" })),
    ];
    says("drive list", { schema_version: 1, drives });
    render(<App />);
    const rows = within(await screen.findByTestId("drives-list")).getAllByRole("row").map(({ textContent }) => textContent);
    expect(rows[1]).toContain("80% (100% on Mar 1, 2027)");
    expect(rows[2]).toContain("nonetoo small by 12\u00a0GB");
    expect(rows[3]).toMatch(/foreign data: XFS file system40 °C–Locate/);
    expect(rows[4]).toContain("–datastate unknown");
    expect(rows[5]).toContain("in sync: not in array log");
});

const FOREIGN = { verdict: "foreign", what: "XFS file system", role: "none", arrays: [], needs_bytes: null, actions: ["erase", "locate"] } as const;

async function actionsOf(serial: string): Promise<ReturnType<typeof within>> {
    const table = within(await screen.findByTestId("drives-list"));
    const row = table.getAllByRole("row").find(({ textContent }) => textContent.includes(serial));
    if (row === undefined) throw new Error(`no drive ${serial}`);
    return within(row);
}

function withForeignDrive(): string {
    const { drives } = golden("1u12-provisioned", "drive list");
    const [first, ...rest] = drives;
    if (first === undefined) throw new Error("a server without drives");
    serverIs("1u12-provisioned");
    says("drive list", { schema_version: 1, drives: [{ ...first, ...FOREIGN, actions: [...FOREIGN.actions], arrays: [] }, ...rest] });
    return first.serial;
}

test("a drive is erased only after its serial number was typed, and what others left is named", async () => {
    const serial = withForeignDrive();
    let erasing: Call | undefined;
    does("drive erase", (call) => { erasing = call; });
    render(<App />);
    await userEvent.click((await actionsOf(serial)).getByRole("button", { name: `Erase drive ${serial}` }));
    const dialog = within(await screen.findByRole("dialog", { name: new RegExp(`Erase the drive ${serial}`) }));
    expect(dialog.getByText(/XFS file system/)).toBeTruthy();
    const button = dialog.getByRole<HTMLButtonElement>("button", { name: "Erase drive" });
    expect(button.disabled).toBe(true);
    await userEvent.type(dialog.getByLabelText(/to confirm/), serial.slice(1));
    expect(button.disabled).toBe(true);
    await userEvent.clear(dialog.getByLabelText(/to confirm/));
    await userEvent.type(dialog.getByLabelText(/to confirm/), serial);
    await userEvent.click(button);
    await waitFor(() => expect(erasing).toBeDefined());
    expect(erasing?.argv).toEqual(["millrace", "drive", "erase", serial, `--serial-again=${serial}`, "--foreign", "--json"]);
    expect(erasing?.options.superuser).toBe("require");
    const line = { schema_version: 1, serial, what: "writing zeros", done: 50, total: 200, bytes_per_second: 10, seconds_left: 15 };
    erasing?.print(`${JSON.stringify(line)}\n`);
    await waitFor(() => expect(dialog.getByTestId("progress").textContent).toContain("25"));
    const ended = {
        schema_version: 1, id: "1", serial, wwid: "", bay: null, state: "done", method: "overwrite", boot: "", began: "", ended: "",
        reason: null, unproved: "areas that the drive keeps out of reach may hold old data",
    };
    erasing?.end(`${JSON.stringify(ended)}\n`);
    const after = within(await screen.findByRole("dialog", { name: `The drive ${serial} is erased` }));
    expect(after.getByText("Not proved: areas that the drive keeps out of reach may hold old data.")).toBeTruthy();
    const [, close] = after.getAllByRole("button", { name: "Close" });
    await userEvent.click(close ?? document.body);
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("a drive that is refused stays as it is, with the program's sentence", async () => {
    const serial = withForeignDrive();
    does("drive erase", (call) => call.fail({ exit_status: 1, message: "millrace: drive X is in use: end its use first" }));
    render(<App />);
    await userEvent.click((await actionsOf(serial)).getByRole("button", { name: `Erase drive ${serial}` }));
    await userEvent.type(await screen.findByLabelText(/to confirm/), serial);
    await userEvent.click(screen.getByRole("button", { name: "Erase drive" }));
    expect((await screen.findByTestId("error")).textContent).toContain("is in use: end its use first");
});

test("a drive blinks when it is to be located, members too", async () => {
    serverIs("1u12-provisioned");
    const [first] = golden("1u12-provisioned", "drive list").drives;
    const serial = first?.serial ?? "";
    let locating: Call | undefined;
    does("drive locate", (call) => { locating = call; });
    render(<App />);
    const actions = await actionsOf(serial);
    expect(actions.queryByRole("button", { name: /Erase/ })).toBeNull();
    await userEvent.click(actions.getByRole("button", { name: `Locate drive ${serial}` }));
    await waitFor(() => expect(locating?.argv).toEqual(["millrace", "drive", "locate", serial, "--seconds=60", "--json"]));
    expect((await actionsOf(serial)).getByText("Blinking")).toBeTruthy();
});
