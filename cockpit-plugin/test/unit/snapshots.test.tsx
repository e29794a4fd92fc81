// SPDX-License-Identifier: Apache-2.0
/** The snapshots of a share on its page of protection: listed, made, scheduled after a plan, and removed by their typed name. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { StatusProvider } from "../../src/lib/status";
import Protection from "../../src/pages/protection";
import type { ScheduleChange, SnapshotManifest, SnapshotRow } from "../../src/types/millrace";
import { document, golden } from "../documents";
import { does, open, refuses, says, started } from "../mocks/cockpit";

const STATUS = { schema_version: 1, health: { level: "OK", findings: [] }, pool: {}, space: null, shares: [], jobs: [] };
const HOURLY = "20261129T120000Z-hourly";
const MANUAL = "20261128T120000Z-manual";
const MANIFEST: SnapshotManifest = {
    schema_version: 1, id: "a", share: "models", project: 1002, name: HOURLY, kind: "hourly", by: "the server",
    first: "2026-11-29T12:00:00.000+00:00", last: "2026-11-29T12:00:01.000+00:00", moment: "2026-11-29T12:00:01.000+00:00",
    entries: 5, bytes: 10, skipped: 0, taken_again: 0, changed_count: 0, changed: [], type: "mixed", bare_count: 0, bare: [], unread_count: 0, unread: [],
};
const row = (name: string, manifest: SnapshotManifest | null): SnapshotRow => ({ share: "models", name, former: false, manifest, problem: null, removal: null, lock: null });
const PLANNED: ScheduleChange = {
    schema_version: 1, share: "models", schedule: { hourly: 24, daily: 14, weekly: 8, monthly: 0, large: false },
    plan: {
        share: "models", schedule: { hourly: 24, daily: 14, weekly: 8, monthly: 0, large: false }, entries: 1234, seconds: 60, measured: false,
        metadata: 2_000_000, kept: 46, held: 92_000_000, free: 1e12, floor: 12, obstacle: null,
    },
    tighter: null,
};
const argv = (verb: string) => started(verb).at(-1)?.argv.slice(1);

beforeEach(() => {
    says("status", STATUS);
    const list = document<{ shares: { name: string }[] }>("share-list.json");
    says("share show", {
        schema_version: 1, share: { ...list.shares.find(({ name }) => name === "models"), snapshots: { hourly: 24, daily: 0, weekly: 8, monthly: 0, large: false } },
        writers: "all users", owner: "root", group: "root", mode: "0777", follows: true, denials: "refused", caching: "none", problem: null,
        connections: { clients: [], files: [], open_files: 0 }, verification: null,
    });
    says("snapshot list", { schema_version: 1, problem: null, snapshots: [row(MANUAL, { ...MANIFEST, name: MANUAL, kind: "manual", moment: null, changed_count: 3 }), row(HOURLY, MANIFEST)] });
    golden("protection show");
    open(["protection", "models"]);
});

const panel = async () => {
    const user = userEvent.setup({ delay: null });
    render(<StatusProvider><Protection /></StatusProvider>);
    const part = within(await screen.findByTestId("share-snapshots"));
    await part.findByText("the whole share at one moment");
    return { user, part };
};

test("snapshots stand with kind and exactness, the newest first", async () => {
    const { part } = await panel();
    const rows = part.getAllByRole("row").slice(1).map((line) => line.textContent);
    expect(rows[0]).toContain("hourly");
    expect(rows[1]).toContain("by handeach file at one moment; 3 changed meanwhile");
    expect(part.getByText("Kept by the schedule: 24 hourly, 8 weekly.")).toBeDefined();
});

test("a snapshot is made at once", async () => {
    says("snapshot create", MANIFEST);
    const { user, part } = await panel();
    await user.click(part.getByRole("button", { name: "Make a snapshot now" }));
    await waitFor(() => expect(argv("snapshot create")).toEqual(["snapshot", "create", "models", "--json"]));
});

test("files of a snapshot are opened, restored and compared", async () => {
    const entry = (name: string, kind: string) => ({ name, kind, bytes: 2000, changed: "2026-11-29T11:00:00+00:00" });
    does("snapshot browse", (call) => call.end(JSON.stringify({
        schema_version: 1, place: call.argv[3], more: 0,
        entries: call.argv[3] === `models@${HOURLY}` ? [entry("set", "directory")] : [entry("a.pt", "file"), entry("socket", "other")],
    })));
    const restored = { schema_version: 1, source: `models@${HOURLY}/set/a.pt`, target: "models/set/a.pt", bytes: 2000 };
    does("snapshot get", (call) => call.end(`${JSON.stringify(restored)}\n`));
    says("snapshot compare", {
        schema_version: 1, older: `models@${HOURLY}/set`, newer: "models/set", compared: 3, added: 0, changed: 0, permissions: 0, moved: 1, removed: 0, unread: 2,
        entries: [{ what: "moved", kind: "file", path: "b.pt", former: "a.pt", bytes: 2000 }], more: 0,
    });
    const { user, part } = await panel();
    await user.click(part.getByRole("button", { name: `Files of the snapshot ${HOURLY}` }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(await dialog.findByRole("button", { name: "set/" }));
    await user.click(await dialog.findByRole("button", { name: "Restore a.pt" }));
    await dialog.findByText(/a\.pt is back in the share/);
    expect(argv("snapshot get")).toEqual(["snapshot", "get", `models@${HOURLY}/set/a.pt`, "--json"]);
    expect(dialog.queryByRole("button", { name: "Restore socket" })).toBeNull();
    await user.click(dialog.getByRole("button", { name: "Compare with the share" }));
    await dialog.findByText("Since the snapshot: 0 added, 0 changed, 0 with other permissions, 1 moved, 0 removed.");
    expect(argv("snapshot compare")).toEqual(["snapshot", "compare", `models@${HOURLY}/set`, "--json"]);
    expect(dialog.getAllByRole("row")[1]?.textContent).toContain("movedb.pta.pt");
    dialog.getByText("2 entries could not be compared: clients changed them, or reading failed.");
});

test("what a restore would replace stays, and the sentence is shown", async () => {
    says("snapshot browse", { schema_version: 1, place: `models@${HOURLY}`, entries: [{ name: "a", kind: "file", bytes: 1, changed: "2026-11-29T11:00:00+00:00" }], more: 7 });
    refuses("snapshot get", "models/a already exists: choose another name");
    const { user, part } = await panel();
    await user.click(part.getByRole("button", { name: `Files of the snapshot ${HOURLY}` }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(await dialog.findByRole("button", { name: "Restore a" }));
    await dialog.findByText(/models\/a already exists/);
    dialog.getByText("… and 7 more");
});

test("a schedule is set after its plan", async () => {
    says("snapshot schedule", PLANNED);
    const { user, part } = await panel();
    await user.click(part.getByRole("button", { name: "Schedule" }));
    const daily = await screen.findByRole("textbox", { name: /Daily snapshots/ });
    await user.clear(daily);
    await user.type(daily, "14");
    await user.click(screen.getByRole("button", { name: "Show plan" }));
    await screen.findByText(/^A snapshot has 1,234 files and directories/);
    expect(argv("snapshot schedule")).toEqual(["snapshot", "schedule", "models", "--hourly=24", "--daily=14", "--weekly=8", "--monthly=0", "--dry-run", "--json"]);
    await user.click(screen.getByRole("button", { name: "Set schedule" }));
    await waitFor(() => expect(argv("snapshot schedule")).not.toContain("--dry-run"));
});

test("a locked snapshot and one that is to be removed say so, and the removal is cancelled", async () => {
    const at = "2026-11-29T12:00:00+00:00";
    says("snapshot list", { schema_version: 1, problem: null, snapshots: [
        { ...row(MANUAL, MANIFEST), lock: { share: "models", name: MANUAL, by: "admin", at, until: "2027-01-31T00:00:00+00:00", left: 9 } },
        { ...row(HOURLY, MANIFEST), removal: { share: "models", name: HOURLY, by: "mallory", at, left: 9, due: "2026-11-30T12:00:00+00:00" } },
    ] });
    says("snapshot keep", { schema_version: 1, share: "models", name: HOURLY, by: "mallory" });
    const user = userEvent.setup({ delay: null });
    render(<StatusProvider><Protection /></StatusProvider>);
    const part = within(await screen.findByTestId("share-snapshots"));
    expect(await part.findByText(/^will be removed .*, ordered by mallory$/)).toBeDefined();
    expect(part.getByText(/^locked until /)).toBeDefined();
    expect(part.queryByRole("button", { name: `Remove the snapshot ${MANUAL}` })).toBeNull();
    await user.click(part.getByRole("button", { name: `Keep the snapshot ${HOURLY}` }));
    await waitFor(() => expect(argv("snapshot keep")).toEqual(["snapshot", "keep", `models@${HOURLY}`, "--json"]));
});

test("a snapshot is removed when its name is typed", async () => {
    says("snapshot remove", { schema_version: 1, share: "models", name: HOURLY, by: "admin", due: "2026-11-30T12:00:00+00:00", left: 86400 });
    const { user, part } = await panel();
    await user.click(part.getByRole("button", { name: `Remove the snapshot ${HOURLY}` }));
    const remove = await screen.findByRole("button", { name: "Remove snapshot" });
    expect(remove).toHaveProperty("disabled", true);
    await user.type(screen.getByRole("textbox", { name: new RegExp(HOURLY) }), HOURLY);
    await user.type(screen.getByRole("textbox", { name: "Hours until the removal" }), "48");
    await user.click(remove);
    await waitFor(() => expect(argv("snapshot remove")).toEqual(["snapshot", "remove", `models@${HOURLY}`, "--after=48", "--json"]));
});

test("a snapshot is locked until a date", async () => {
    says("snapshot lock", { schema_version: 1, share: "models", name: HOURLY, until: "2027-01-31T00:00:00+00:00", cancelled: false });
    const { user, part } = await panel();
    await user.click(part.getByRole("button", { name: `Lock the snapshot ${HOURLY}` }));
    const lock = await screen.findByRole("button", { name: "Lock snapshot" });
    expect(lock).toHaveProperty("disabled", true);
    await user.type(screen.getByRole("textbox", { name: /Locked until/ }), "2027-01-31");
    await user.click(lock);
    await waitFor(() => expect(argv("snapshot lock")).toEqual(["snapshot", "lock", `models@${HOURLY}`, "--until=2027-01-31", "--json"]));
});
