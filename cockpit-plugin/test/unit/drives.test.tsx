// SPDX-License-Identifier: Apache-2.0
/** A person replaces, adds and removes drives: led from the old drive to the new one, and told how it goes. */
import { cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { App } from "../../src/app";
import type { ChangeProgress, DriveChange, DriveProposal, DriveRow } from "../../src/types/millrace";
import { golden, serverIs } from "../golden";
import { does, open, refuses, says, setAdmin, started, type Call } from "../mocks/cockpit";

const OLD = "MRD00000000004";
const NEW = "MRD00000000013";
const OTHER = "MRD00000000001";

beforeEach(() => open(["storage"]));

/** The change of the golden server that replaces a drive, with what a test says of it. */
function progress(of: Partial<ChangeProgress> = {}, change: Partial<DriveChange> = {}): ChangeProgress {
    const { change: now } = golden("1u12-replacing", "drive progress");
    if (now === null) throw new Error("no change");
    return { ...now, ...of, change: { ...now.change, ...change } };
}

const isChanging = (now: ChangeProgress | null) => says("drive progress", { schema_version: 1, change: now });

const proposal = (): DriveProposal => {
    const { sha256, plan } = progress().change;
    return { schema_version: 1, sha256, plan, differences: [], steps: [`Write a partition table to drive ${NEW}.`, "Array data: add millrace-data-03."] };
};

function arrived(of: Partial<DriveRow> = {}): DriveRow {
    const { drives } = golden("1u12-replacing", "drive list");
    const found = drives.find(({ serial }) => serial === NEW);
    if (found === undefined) throw new Error("no new drive");
    return { ...found, role: "none", arrays: [], verdict: "blank", actions: ["add", "erase", "locate"], needs_bytes: null, ...of };
}

/** A degraded server, and drives that were put into it. */
function degraded(...fresh: DriveRow[]): void {
    serverIs("1u12-degraded");
    const { drives } = golden("1u12-degraded", "drive list");
    says("drive list", { schema_version: 1, drives: [...drives, ...fresh] });
}

const replaceDialog = async () => within(await screen.findByRole("dialog", { name: new RegExp(`Replace drive ${OLD}`) }));
const row = async (serial: string) => {
    const list = within(await screen.findByTestId("drives-list"));
    return within(list.getAllByRole("row").find(({ textContent }) => textContent.includes(serial)) ?? document.body);
};
const print = (call: Call | undefined, document: object) => call?.print(`${JSON.stringify(document)}\n`);

test("the dialog says that a new drive is found in its slot only after a restart", async () => {
    serverIs("1u12-degraded");
    const what = "hot plug is off in its slot: put the new drive in while the server is off";
    const { drives } = golden("1u12-degraded", "drive list");
    says("drive list", { schema_version: 1, drives: drives.map((one) => (one.serial === OLD ? { ...one, what } : one)) });
    render(<App />);
    await userEvent.click((await row(OLD)).getByRole("button", { name: `Replace drive ${OLD}` }));
    expect((await replaceDialog()).getByText(new RegExp(`missing: ${what}`))).toBeTruthy();
});

test("a missing drive is replaced: the new one arrives, the plan is shown, confirmed by its hash, and followed to its end", async () => {
    degraded();
    let replacing: Call | undefined;
    does("drive replace", (call) => { replacing = call; });
    says("drive replace --dry-run", proposal());
    render(<App />);
    await userEvent.click((await row(OLD)).getByRole("button", { name: `Replace drive ${OLD}` }));
    let dialog = await replaceDialog();
    expect(dialog.getByText("The drive is not in the server; the bay is its last one.")).toBeTruthy();
    expect(dialog.getAllByText("Waiting for a new drive").length).toBeGreaterThan(0);
    expect(dialog.getByText(/Insert a blank drive of at least 7.68\stB \(7,\d{3},\d{3},\d{3},\d{3} bytes\)/i)).toBeTruthy();
    expect(dialog.getByText("Array data: Survives 1 more drive failure.")).toBeTruthy();
    expect(dialog.getByRole<HTMLButtonElement>("button", { name: "Replace drive" }).disabled).toBe(true);
    expect(started("drive replace")).toHaveLength(0);

    degraded(arrived());
    expect((await dialog.findByTestId("arrived", undefined, { timeout: 10_000 })).textContent).toContain(`${NEW}, bay 4`);
    const shown = await dialog.findByTestId("proposal");
    expect(shown.textContent).toContain(`Write a partition table to drive ${NEW}.`);
    expect(shown.textContent).toContain(proposal().sha256);
    const [asked] = started("drive replace");
    expect(asked?.argv).toEqual(["millrace", "drive", "replace", "--dry-run", OLD, `--with=${NEW}`, "--json"]);
    const confirm = dialog.getByRole<HTMLButtonElement>("button", { name: "Replace drive" });
    confirm.focus();
    await userEvent.keyboard("{Enter}");
    await waitFor(() => expect(replacing).toBeDefined());
    expect(replacing?.argv).toEqual(["millrace", "drive", "replace", OLD, `--with=${NEW}`, `--plan=${proposal().sha256}`, "--json"]);
    expect(replacing?.options.superuser).toBe("require");

    print(replacing, proposal());
    isChanging(progress());
    print(replacing, progress());
    dialog = within(await screen.findByRole("dialog", { name: /^Replacement of drive MRD00000000004/ }));
    const bar = dialog.getByTestId("progress").textContent;
    expect(bar).toContain("Step 3 of 4: rebuild array data");
    expect(bar).toContain("25%");
    expect(bar).toMatch(/1.5\d*\sGB\/s/);
    expect(bar).toContain("left");

    const end = progress({ step: null, done: 4 }, { ended: "2026-11-20T14:00:00+00:00" });
    isChanging(end);
    print(replacing, end);
    replacing?.end(`${JSON.stringify(end.change)}\n`);
    expect(await dialog.findByText(`Drive ${NEW} (bay 4) has replaced drive ${OLD} (bay 4).`)).toBeTruthy();
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(screen.queryByTestId("drive-change")).toBeNull();
}, 30_000);

test("a new drive that is too small is named with the bytes that it lacks and the sentence of the program", async () => {
    degraded(arrived({ verdict: "too small", too_small_by: 4096 }), arrived({ serial: "FOREIGN1", bay: "13", verdict: "foreign", what: "XFS file system" }));
    const sentence = `cannot replace drive ${OLD} (bay 4): drive ${NEW} (bay 4) is too small by 4096 bytes; nothing was written`;
    refuses("drive replace --dry-run", sentence);
    open(["storage", "replace", OLD]);
    render(<App />);
    const dialog = await replaceDialog();
    expect(dialog.getByTestId("arrived").textContent).toContain("(4,096 bytes)");
    expect((await dialog.findByTestId("error")).textContent).toContain(sentence);
    expect(dialog.getByTestId("refused").textContent).toContain("FOREIGN1, bay 13");
    expect(dialog.getByTestId("refused").textContent).toContain("foreign data: XFS file system");
    expect(dialog.getByRole<HTMLButtonElement>("button", { name: "Replace drive" }).disabled).toBe(true);
});

test("of two drives the one in the bay of the old one is proposed, and another one can be chosen", async () => {
    degraded(arrived({ serial: "BLANK2", bay: "13" }), arrived());
    does("drive replace --dry-run", (call) => {
        const serial = call.argv.find((one) => one.startsWith("--with="))?.slice(7) ?? "";
        const of = proposal();
        const into = of.plan.new;
        if (into === null) throw new Error("no new drive");
        call.end(JSON.stringify({ ...of, steps: [`Write to ${serial}.`], plan: { ...of.plan, new: { ...into, serial } } }));
    });
    open(["storage", "replace", OLD]);
    render(<App />);
    const dialog = await replaceDialog();
    expect(await dialog.findByText(`Write to ${NEW}.`)).toBeTruthy();
    await userEvent.selectOptions(dialog.getByLabelText("New drive"), "BLANK2");
    expect(await dialog.findByText("Write to BLANK2.")).toBeTruthy();
    expect(dialog.queryByText(`Write to ${NEW}.`)).toBeNull();
});

test("a drive that can be read stays until it is copied", async () => {
    serverIs("1u12-provisioned");
    open(["storage", "replace", OTHER]);
    render(<App />);
    const dialog = within(await screen.findByRole("dialog", { name: `Replace drive ${OTHER}?` }));
    expect(dialog.getByText(/Leave it in its bay until it is copied/)).toBeTruthy();
    expect(dialog.getByRole("button", { name: `Locate drive ${OTHER}` })).toBeTruthy();
});

test("a change that is refused after it was confirmed leaves the dialog with the sentence", async () => {
    degraded(arrived());
    says("drive replace --dry-run", proposal());
    refuses("drive replace", "the removal of S1 is running; `millrace drive progress` shows its progress");
    open(["storage", "replace", OLD]);
    render(<App />);
    const dialog = await replaceDialog();
    await dialog.findByTestId("proposal");
    refuses(`drive replace ${OLD}`, "the removal of S1 is running; `millrace drive progress` shows its progress");
    await userEvent.click(dialog.getByRole("button", { name: "Replace drive" }));
    expect((await dialog.findByTestId("error")).textContent).toContain("the removal of S1 is running");
    // the drives may have changed: what would be written now is asked again
    await waitFor(() => expect(started("drive replace --dry-run")).toHaveLength(2));
    await dialog.findByTestId("proposal");
});

test("a change that a tool stops says why and how it goes on", async () => {
    degraded(arrived());
    says("drive replace --dry-run", proposal());
    let replacing: Call | undefined;
    does(`drive replace ${OLD}`, (call) => { replacing = call; });
    open(["storage", "replace", OLD]);
    render(<App />);
    const dialog = await replaceDialog();
    await dialog.findByTestId("proposal");
    await userEvent.click(dialog.getByRole("button", { name: "Replace drive" }));
    await waitFor(() => expect(replacing).toBeDefined());
    isChanging(progress({}, { error: "mdadm failed: no space" }));
    print(replacing, progress({}, { error: "mdadm failed: no space" }));
    replacing?.fail({ exit_status: 1, message: "millrace: mdadm failed: no space" });
    const after = within(await screen.findByRole("dialog", { name: /^Replacement of drive/ }));
    const errors = await after.findAllByTestId("error");
    expect(errors).toHaveLength(1);
    expect(errors[0]?.textContent).toContain("The change stopped: mdadm failed: no space");
    expect(after.getByText("millrace drive resume")).toBeTruthy();
    await userEvent.click(after.getByRole("button", { name: "Start again" }));
    expect((await replaceDialog()).getByTestId("arrived").textContent).toContain(NEW);
});

test("after a reload the page and the dialog show the change that goes on, from its journal", async () => {
    serverIs("1u12-replacing");
    open(["storage", "replace", OLD]);
    const first = render(<App />);
    await screen.findByRole("dialog", { name: /^Replacement of drive/ });
    first.unmount();
    cleanup();
    render(<App />);
    const dialog = within(await screen.findByRole("dialog", { name: /^Replacement of drive/ }));
    expect(dialog.getByTestId("progress").textContent).toContain("Step 3 of 4: rebuild array data");
    expect(started("drive replace")).toHaveLength(0);
    const panel = screen.getByTestId("drive-change");
    expect(panel.textContent).toContain(`Replacement of drive ${OLD} (bay 4) by drive ${NEW} (bay 4)`);
    expect(panel.textContent).toContain("25%");
    expect(panel.textContent).toContain("Array data: Survives 1 more drive failure.");
    // no second change while this one goes on
    expect(screen.queryByTestId("drive-attention")).toBeNull();
});

test("a replacement that ended while the page was reloaded shows its result, and asks for no drive", async () => {
    const { drives } = golden("1u12-degraded", "drive list");
    serverIs("1u12-provisioned");
    says("drive list", { schema_version: 1, drives: drives.filter(({ serial }) => serial !== OLD) });
    isChanging(progress({ step: null, done: 4 }, { ended: "2026-11-20T14:00:00+00:00" }));
    open(["storage", "replace", OLD]);
    render(<App />);
    const dialog = within(await screen.findByRole("dialog", { name: /^Replacement of drive MRD00000000004/ }));
    expect(dialog.getByText(`Drive ${NEW} (bay 4) has replaced drive ${OLD} (bay 4).`)).toBeTruthy();
    expect(screen.queryByText("Waiting for a new drive")).toBeNull();
});

test("a change that failed is shown with its error until that was read", async () => {
    degraded();
    isChanging(progress({ step: null }, { ended: "2026-11-20T14:00:00+00:00", error: "the server has changed; nothing was written: start it again" }));
    render(<App />);
    const panel = within(await screen.findByTestId("drive-change"));
    expect(panel.getByTestId("error").textContent).toContain("The change failed: the server has changed; nothing was written");
    expect(panel.getByTestId("error").textContent).toContain("start the change again from the list of drives");
    await userEvent.click(panel.getByRole("button", { name: "Dismiss" }));
    expect(screen.queryByTestId("drive-change")).toBeNull();
});

test("a change that ends with an error while it is followed says so, and can be begun again", async () => {
    serverIs("1u12-replacing");
    open(["storage", "replace", OLD]);
    render(<App />);
    const dialog = within(await screen.findByRole("dialog", { name: /^Replacement of drive/ }));
    isChanging(progress({ step: null }, { ended: "2026-11-20T14:00:00+00:00", error: "RAID6 data: md has lost the new member" }));
    expect((await dialog.findByTestId("error", undefined, { timeout: 10_000 })).textContent).toContain("The change failed: RAID6 data: md has lost the new member");
    await userEvent.click(dialog.getByRole("button", { name: "Start again" }));
    await replaceDialog();
});

test("a change is one of the running jobs on the overview", async () => {
    serverIs("1u12-replacing");
    open([]);
    render(<App />);
    const jobs = await screen.findByTestId("jobs");
    await waitFor(() => expect(jobs.textContent).toContain(`Change of drives: the replacement of ${OLD} by ${NEW}`));
});

test("a change that is done leaves the page without a word", async () => {
    serverIs("1u12-provisioned");
    isChanging(progress({ step: null }, { ended: "2026-11-20T14:00:00+00:00" }));
    render(<App />);
    await screen.findByTestId("drives-list");
    expect(screen.queryByTestId("drive-change")).toBeNull();
});

test("a blank drive is added as a hot spare after its plan was shown", async () => {
    serverIs("1u12-provisioned");
    const { drives } = golden("1u12-provisioned", "drive list");
    says("drive list", { schema_version: 1, drives: [...drives, arrived()] });
    const of = proposal();
    says("drive add --dry-run", { ...of, plan: { ...of.plan, verb: "add", old: null } });
    let adding: Call | undefined;
    does(`drive add ${NEW}`, (call) => { adding = call; });
    render(<App />);
    await userEvent.click((await row(NEW)).getByRole("button", { name: `Add drive ${NEW} as a hot spare` }));
    const dialog = within(await screen.findByRole("dialog", { name: `Add drive ${NEW} as a hot spare?` }));
    expect((await dialog.findByTestId("proposal")).textContent).toContain("Array data: add millrace-data-03.");
    await userEvent.click(dialog.getByRole("button", { name: "Add drive" }));
    await waitFor(() => expect(adding?.argv).toEqual(["millrace", "drive", "add", NEW, `--plan=${of.sha256}`, "--json"]));
    const end = progress({ step: null }, { ended: "x", plan: { ...of.plan, verb: "add", old: null } });
    isChanging(end);
    print(adding, end);
    adding?.end(`${JSON.stringify(end.change)}\n`);
    expect(await screen.findByText(`Drive ${NEW} (bay 4) is a hot spare.`)).toBeTruthy();
});

test("a drive that is removed may be pulled, and one that is needed is refused with the sentence", async () => {
    serverIs("1u12-provisioned");
    const { drives } = golden("1u12-provisioned", "drive list");
    says("drive list", { schema_version: 1, drives: [...drives, arrived({ verdict: "spare", role: "spare", arrays: ["data"], actions: ["remove", "locate"] })] });
    const sentence = `drive ${NEW} is in use in RAID6 data; to take it out with redundancy kept: millrace drive replace ${NEW}`;
    refuses("drive remove --dry-run", sentence);
    render(<App />);
    await userEvent.click((await row(NEW)).getByRole("button", { name: `Remove drive ${NEW}` }));
    const dialog = within(await screen.findByRole("dialog", { name: `Remove drive ${NEW} from the pool?` }));
    expect((await dialog.findByTestId("error")).textContent).toContain(sentence);
    const remove = dialog.getByRole<HTMLButtonElement>("button", { name: "Remove drive" });
    expect(remove.disabled).toBe(true);
    const of = proposal();
    says("drive remove --dry-run", { ...of, plan: { verb: "remove", old: of.plan.new, new: null, partitions: [], leaves: ["data"] }, steps: ["Array data: remove it."] });
    await userEvent.click(dialog.getByRole("button", { name: "Try again" }));
    expect((await dialog.findByTestId("proposal")).textContent).toContain("Array data: remove it.");
    expect(remove.disabled).toBe(false);
});

test("the drive that needs attention comes first on the overview and on the page of storage, and its replacement is offered", async () => {
    degraded();
    open([]);
    render(<App />);
    const overview = await screen.findByTestId("drive-attention");
    expect(overview.textContent).toContain(`Drive ${OLD} (bay 4): missing`);
    expect(overview.compareDocumentPosition(screen.getByTestId("verdict")) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    await userEvent.click(within(overview).getByRole("button", { name: `Replace drive ${OLD} now` }));
    await replaceDialog();
    const storage = await screen.findByTestId("drive-attention");
    expect(storage.compareDocumentPosition(screen.getByTestId("storage-verdict")) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
});

test("the bay of the drive is drawn among the others, on both pages", async () => {
    degraded();
    for (const path of [[], ["storage"]]) {
        open(path);
        const { unmount } = render(<App />);
        const shown = await screen.findByTestId("drive-attention");
        expect(within(shown).getByRole("img", { name: "Bay 4, in a row of 12" }).querySelector(".mr-bay-fail")?.textContent).toBe("4");
        unmount();
    }
});

test("a drive with new media errors or a critical warning needs attention while it is in sync", async () => {
    serverIs("1u12-provisioned");
    const status = golden("1u12-provisioned", "status");
    const about = (serial: string, level: "WARN" | "FAIL", sentence: string) => ({
        check: "drives", subject: serial, level, sentence, todo: `Replace the drive: millrace drive replace ${serial}`, key: `drives/${serial}`, since: null,
    });
    says("status", { ...status, health: { ...status.health, findings: [
        ...status.health.findings,
        about(OTHER, "WARN", "Bay 1: It could not read data back 3 times since 2026-11-01 (media errors)."),
        about(OLD, "FAIL", "Bay 4: It reports a critical warning."),
        { ...about("MRD00000000002", "WARN", "The link is slow."), check: "hardware" },
    ] } });
    open([]);
    render(<App />);
    const [critical, media, ...more] = await screen.findAllByTestId("drive-attention");
    expect(more).toEqual([]);
    expect([media?.dataset.serial, media?.dataset.level, critical?.dataset.serial, critical?.dataset.level]).toEqual([OTHER, "WARN", OLD, "FAIL"]);
    expect(media?.textContent).toContain(`Drive ${OTHER} (bay 1): needs attention`);
    expect(media?.textContent).toContain("It could not read data back 3 times");
    expect(critical?.querySelector(".mr-bay-fail")?.textContent).toBe("4");
    expect(within(media ?? document.body).getByRole("button", { name: `Replace drive ${OTHER} now` })).toBeTruthy();
    expect(within(media ?? document.body).getByRole("button", { name: `Locate drive ${OTHER}` })).toBeTruthy();
});

test("a member that is back and not in its array needs attention", async () => {
    serverIs("1u12-provisioned");
    const { drives } = golden("1u12-provisioned", "drive list");
    says("drive list", { schema_version: 1, drives: drives.map((one) => (one.serial !== OLD ? one
        : { ...one, verdict: "returned", what: "taken out on 2026-11-19, not re-added", needs_bytes: null, actions: ["erase", "locate"] })) });
    render(<App />);
    const shown = await screen.findByTestId("drive-attention");
    expect(shown.dataset.level).toBe("WARN");
    expect(shown.textContent).toContain("returned, not in its array: taken out on 2026-11-19");
});

test("a faulty drive that no drive may replace now is shown, too", async () => {
    serverIs("1u12-degraded");
    const { drives } = golden("1u12-degraded", "drive list");
    says("drive list", { schema_version: 1, drives: drives.map((one) => (one.serial === OLD ? { ...one, verdict: "faulty", needs_bytes: null } : one)) });
    render(<App />);
    const shown = await screen.findByTestId("drive-attention");
    expect(shown.textContent).toContain("faulty");
    expect(within(shown).queryByRole("button", { name: /Replace/ })).toBeNull();
});

test("rows offer what the program allows: no other replacement in a degraded array", async () => {
    degraded();
    render(<App />);
    expect((await row(OLD)).getByRole("button", { name: `Replace drive ${OLD}` })).toBeTruthy();
    expect((await row(OTHER)).queryByRole("button", { name: /Replace|Add|Remove/ })).toBeNull();
});

test("with limited access the buttons do nothing, and a dialog that was opened by its address says why", async () => {
    setAdmin(false);
    degraded(arrived());
    says("drive replace --dry-run", proposal());
    render(<App />);
    await userEvent.click((await row(OLD)).getByRole("button", { name: `Replace drive ${OLD}` }));
    expect(screen.queryByRole("dialog")).toBeNull();
    open(["storage", "replace", OLD]);
    const dialog = await replaceDialog();
    expect((await dialog.findByTestId("error")).textContent).toContain("Requires administrative access");
    expect(dialog.getByRole<HTMLButtonElement>("button", { name: "Replace drive" }).disabled).toBe(true);
});

test("what sets a new drive apart from its neighbours is shown before the change is confirmed", async () => {
    const sentence = `Drive ${NEW} does not guarantee that deallocated blocks read as zeroes (NVMe DLFEAT): no free space of the pool is trimmed.`;
    degraded(arrived());
    says("drive replace --dry-run", { ...proposal(), differences: [sentence] });
    open(["storage", "replace", OLD]);
    render(<App />);
    const dialog = await replaceDialog();
    expect((await dialog.findByTestId("differences")).textContent).toContain(sentence);
});

test("a drive that stays out of its array says why", async () => {
    degraded(arrived({ verdict: "returned", what: "taken out on 2026-11-20 14:00 UTC, not re-added" }));
    render(<App />);
    expect((await row(NEW)).getByText("returned, not in its array: taken out on 2026-11-20 14:00 UTC, not re-added")).toBeTruthy();
});
