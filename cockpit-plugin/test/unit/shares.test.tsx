// SPDX-License-Identifier: Apache-2.0
/** A week with shares: look, create, change, remove, users and passwords, and what is refused. */
import { cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { StatusProvider } from "../../src/lib/status";
import Shares from "../../src/pages/shares";
import { document, golden } from "../documents";
import { jobOf, lineOf } from "../jobs";
import { calls, does, open, refuses, says, setAdmin, started } from "../mocks/cockpit";

const STATUS = { schema_version: 1, health: { level: "OK", findings: [] }, pool: {}, space: null, shares: [], jobs: [] };

function show(path: string[] = ["shares"]): ReturnType<typeof userEvent.setup> {
    open(path);
    render(<StatusProvider><Shares /></StatusProvider>);
    return userEvent.setup({ delay: null });
}

const row = async (name: string) => {
    const found = (await screen.findByTestId("shares")).querySelector(`[data-row="${name}"]`);
    if (!(found instanceof HTMLElement)) throw new Error(`no row of ${name}`);
    return within(found);
};
const MODELS = ["shares", "show", "models"];
const LENA = { host: "10.0.0.5", user: "lena", since: "2026-11-20T11:00:00+00:00", files: 1 };
const PLAN = { path: "plan.txt", user: "lena", writing: true };

/** `share show` of the share models, changed by `share` and `more`. */
function shown(share: object = {}, more: object = {}): void {
    const list = document<{ shares: { name: string }[]; verifications: { result: { name: string } }[] }>("share-list.json");
    says("share show", {
        schema_version: 1, share: { ...list.shares.find(({ name }) => name === "models"), ...share }, writers: "all users of the share write everything",
        owner: "root", group: "root", mode: "0777", follows: true, denials: "refused", caching: "none", problem: null,
        connections: { clients: [LENA], files: [PLAN], open_files: 1 }, verification: list.verifications.find(({ result }) => result.name === "models"), ...more,
    });
    says("share log", { schema_version: 1, share: "models", audit: false, entries: [], lost: [] });
}
const argv = (verb: string) => started(verb).at(-1)?.argv.slice(1);

beforeEach(() => {
    says("status", STATUS);
    for (const verb of ["share list", "user list", "group list", "config history", "config show", "share networks list", "share verify"]) golden(verb);
    says("session list", document("1u12-provisioned/session-list.json"));
    says("share create --dry-run", document("share-create.--dry-run.json"));
    says("share set --dry-run", document("share-create.--dry-run.json"));
});

test("both protocols, the space and the state of a share stand side by side", async () => {
    show();
    const models = await row("models");
    expect(models.getByText("10.0.0.0/24")).toBeDefined();
    expect(models.getByText("anna, ben")).toBeDefined();
    expect(models.getByRole("meter", { name: "Usage of models" }).getAttribute("aria-valuenow")).toBe(String(10_307_921_511 * 1024));
    expect(models.getByText(/^Served, verified Nov 20/).closest("[data-level]")?.getAttribute("data-level")).toBe("OK");
    expect((await row("backup")).queryByRole("meter")).toBeNull();
});

test("a look turns unknown into served, or into what is wrong", async () => {
    const list = document<{ verifications: unknown[] }>("share-list.json");
    says("share list", { ...list, verifications: [] });
    const user = show();
    expect((await row("models")).getByText("Not verified").closest("[data-level]")?.getAttribute("data-level")).toBe("UNKNOWN");
    says("share list", list);
    await user.click(screen.getByRole("button", { name: "Verify shares" }));
    await waitFor(async () => expect((await row("models")).getByText(/^Served, verified Nov 20/).closest("[data-level]")?.getAttribute("data-level")).toBe("OK"));
    const [broken] = document<{ shares: unknown[] }>("share-verify.broken.json").shares;
    says("share list", { ...list, verifications: [{ at: "2026-11-20T12:00:00+00:00", result: broken }] });
    await user.click(screen.getByRole("button", { name: "Verify shares" }));
    const data = await row("data");
    await waitFor(() => expect(data.getByText(/^Not served/).closest("[data-level]")?.getAttribute("data-level")).toBe("FAIL"));
    expect(data.getByText(/data not listed/)).toBeDefined();
});

test("a share that no network reaches says why, and is not green", async () => {
    golden("share list", "obstacle");
    show();
    expect((await row("data")).getByText("Not served").closest("[data-level]")?.getAttribute("data-level")).toBe("WARN");
});

test("a share for NFS that nobody may mount is not called off", async () => {
    golden("share list", "obstacle");
    show();
    expect((await row("data")).getByText("Closed: no client network is confirmed")).toBeDefined();
});

test("the editor says to whom a share is exported that names no clients", async () => {
    show(["shares", "create"]);
    expect(await screen.findByText("Exported to the client networks of this server: 10.0.0.0/24, 10.0.1.0/24.")).toBeDefined();
    says("share networks list", { schema_version: 1, policy: [], confirmed: [], found: [] });
    cleanup();
    show(["shares", "create"]);
    expect(await screen.findByText(/^Not exported until/)).toBeDefined();
});

test("a new share is previewed in the program's words and made", async () => {
    golden("share create");
    const user = show(["shares", "create"]);
    refuses("share create --dry-run", "share models already exists");
    await user.type(await screen.findByLabelText(/^Name/), "models");
    await screen.findByText("share models already exists", undefined, { timeout: 3000 });
    expect(screen.getByRole("button", { name: "Create share" })).toHaveProperty("disabled", true);
    says("share create --dry-run", document("share-create.--dry-run.json"));
    await user.type(screen.getByLabelText(/^Name/), "2");
    await user.selectOptions(screen.getByLabelText("Share type"), "training");
    await user.type(screen.getByLabelText("Size limit"), "10T");
    const preview = screen.getByTestId("preview");
    await waitFor(() => expect(within(preview).getByText(/^\/srv\/pool\/models 10\.0\.0\.0\/24\(ro,/)).toBeDefined(), { timeout: 3000 });
    await waitFor(() => expect(screen.getByRole("button", { name: "Create share" })).toHaveProperty("disabled", false), { timeout: 3000 });
    await user.click(screen.getByRole("button", { name: "Create share" }));
    await screen.findByText("Share models is served.");
    const [made] = started("share create models2").filter((call) => !call.argv.includes("--dry-run"));
    expect(made?.argv.slice(1)).toEqual(["share", "create", "models2", "--type=training", "--comment=", "--writing=together", "--size=10T", "--soft-size=none", "--child-size=none", "--nfs",
        "--nfs-client=default", "--smb", "--smb-user=admin", "--smb-network=default", "--encryption=offered", "--no-time-machine", "--json"]);
    expect(made?.options.superuser).toBe("require");
    expect(screen.getByTestId("done").textContent).toContain("SMB: models is listed and accessible");
});

test("a change sends the one thing that changed, and the program's refusal is shown as it is", async () => {
    const refused = "anna has web console access and cannot open shares: choose another user, or: millrace user set anna --no-console";
    refuses("share set", refused);
    says("share set --dry-run", document("share-create.--dry-run.json"));
    const user = show(["shares", "share", "models"]);
    const size = await screen.findByLabelText("Size limit");
    expect(size).toHaveProperty("value", "10T");
    await user.clear(size);
    // nothing has changed yet, so there is nothing to ask
    expect(started("share set --dry-run")).toEqual([]);
    await user.type(size, "9500G");
    await waitFor(() => expect(screen.getByRole("button", { name: "Save" })).toHaveProperty("disabled", false), { timeout: 3000 });
    await user.click(screen.getByRole("button", { name: "Save" }));
    await screen.findByText(refused);
    expect(argv("share set models")).toEqual(["share", "set", "models", "--size=9500G", "--json"]);
    expect(size).toHaveProperty("value", "9500G");
});

test("snapshots are hidden from SMB clients and exported over NFS", async () => {
    refuses("share set", "no");
    says("share set --dry-run", document("share-create.--dry-run.json"));
    const user = show(["shares", "share", "models"]);
    const versions = await screen.findByLabelText("Previous versions");
    expect(versions).toHaveProperty("checked", true);
    await user.click(versions);
    await user.click(screen.getByLabelText("Export the snapshots"));
    await waitFor(() => expect(screen.getByRole("button", { name: "Save" })).toHaveProperty("disabled", false), { timeout: 3000 });
    await user.click(screen.getByRole("button", { name: "Save" }));
    await screen.findByText("no");
    expect(argv("share set models")).toEqual(["share", "set", "models", "--no-previous-versions", "--nfs-snapshots", "--json"]);
});

test("what only the program can see is refused in the preview", async () => {
    refuses("share set --dry-run", "the domain has no user LAB\\eve");
    const user = show(["shares", "share", "models"]);
    await user.type(await screen.findByLabelText("Other user"), "LAB\\eve");
    await user.click(screen.getAllByRole("button", { name: "Add" })[0] as HTMLElement);
    await screen.findByText("the domain has no user LAB\\eve", undefined, { timeout: 3000 });
    await waitFor(() => expect(argv("share set --dry-run")).toContain("--smb-user=LAB\\eve"), { timeout: 3000 });
});

test("removing keeps the data; deleting it needs the name", async () => {
    golden("share remove");
    shown();
    const user = show(MODELS);
    await user.click(await screen.findByRole("button", { name: "Remove" }));
    expect(screen.getByText(/Files stay in \/srv\/pool\/models/)).toBeDefined();
    await user.click(screen.getByLabelText("Delete the files too"));
    const button = screen.getByRole("button", { name: "Remove share and delete data" });
    expect(button).toHaveProperty("disabled", true);
    await user.type(screen.getByLabelText(/^Type “models”/), "model");
    expect(button).toHaveProperty("disabled", true);
    await user.type(screen.getByLabelText(/^Type “models”/), "s");
    await user.click(button);
    await screen.findByText("Share models has been removed.");
    expect(argv("share remove")).toEqual(["share", "remove", "models", "--delete-data=models", "--json"]);
});

test("a password goes to stdin and nowhere else", async () => {
    golden("user create");
    const user = show();
    await user.click(await screen.findByRole("button", { name: "New user" }));
    await user.type(screen.getByLabelText(/^Name/), "dora");
    await user.type(screen.getByLabelText(/^Password \*|^Password$/), "s3cret words");
    await user.type(screen.getByLabelText(/^Password again/), "s3cret");
    expect(screen.getByText("passwords do not match")).toBeDefined();
    expect(screen.getByRole("button", { name: "Create user" })).toHaveProperty("disabled", true);
    await user.type(screen.getByLabelText(/^Password again/), " words");
    await user.click(screen.getByLabelText("ml"));
    await user.click(screen.getByRole("button", { name: "Create user" }));
    await screen.findByText("Created user anna with UID 2001.");
    const [made] = started("user create");
    expect(made?.argv.slice(1)).toEqual(["user", "create", "dora", "--group=ml", "--password-stdin", "--json"]);
    expect(made?.input).toBe("s3cret words\n");
    expect(JSON.stringify(calls.map((call) => call.argv))).not.toContain("s3cret");
});

test("the way back asks first and says what it did", async () => {
    says("config rollback", { schema_version: 1, serial: 12, verified: ["SMB: data is listed and accessible"], warnings: [], without_password: [] });
    const user = show();
    await user.click(await screen.findByRole("button", { name: "Roll back to change 10" }));
    await user.click(screen.getByRole("button", { name: "Roll back" }));
    await screen.findByText("The earlier state has been restored.");
    expect(argv("config rollback")).toEqual(["config", "rollback", "10", "--json"]);
});

test("with limited access everything is there to read, and the reason why not to change", async () => {
    setAdmin(false);
    show();
    const change = (await row("models")).getByRole("button", { name: "Change models" });
    expect(change.getAttribute("aria-disabled")).toBe("true");
    expect(within(screen.getByTestId("sessions")).getByText("Listing connected clients requires administrative access.")).toBeDefined();
    expect(calls.every((call) => call.options.superuser === null)).toBe(true);
});

test("no pool, no share, no users: each says what to do", async () => {
    says("status", { ...STATUS, pool: null });
    golden("share list", "empty");
    golden("group list", "empty");
    golden("session list", "partial");
    show();
    await screen.findByText("No pool yet");
    await screen.findByText(/No groups yet/);
    await screen.findByText(/smbstatus does not list SMB sessions/);
    expect(screen.queryByText("No clients are connected.")).toBeNull();
});

test("a program that prints garbage gives an error with a retry", async () => {
    does("share list", (call) => call.end("Traceback"));
    const user = show();
    await screen.findByText("`millrace share list` printed invalid output.");
    golden("share list");
    await user.click(within(screen.getByTestId("share-list")).getByRole("button", { name: "Try again" }));
    await row("models");
});

const FORECAST = { schema_version: 1, source: "models", target: "models-2", entries: 1200, charged: 1e12, metadata: 2_457_600, seconds: 90, measured: false, obstacle: null };
const CLONE = {
    schema_version: 1, id: "1", source: "models", target: "models-2", sealed: true, share: true, by: "admin", state: "done", boot: "b", began: "2026-11-20T12:00:00+00:00",
    ended: null, reason: null, entries: 1200, changed: 0, skipped: 0, seconds: 90, inode: 5, verified: ["NFS: models-2: exported"], warnings: [],
};

test("a share is cloned after its forecast, sealed if asked, and what was verified is shown", async () => {
    does("share clone", (call) => {
        call.print(`${JSON.stringify(call.argv.includes("--dry-run") ? FORECAST : CLONE)}\n`);
        call.end();
    });
    shown();
    const user = show(MODELS);
    await user.click(await screen.findByRole("button", { name: "Clone" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("checkbox", { name: "Seal the clone" }));
    await user.click(dialog.getByRole("button", { name: "Show forecast" }));
    expect(await dialog.findByText(/1,200 files and directories, about/)).toBeDefined();
    expect(argv("share clone")).toEqual(expect.arrayContaining(["models", "models-2", "--seal", "--dry-run"]));
    await user.click(await dialog.findByRole("button", { name: "Clone" }));
    expect(await screen.findByText("models has been cloned to models-2.")).toBeDefined();
    expect(screen.getByText("NFS: models-2: exported")).toBeDefined();
    expect(argv("share clone")).not.toContain("--dry-run");
});

test("a forecast that does not fit offers no clone", async () => {
    does("share clone", (call) => {
        call.print(`${JSON.stringify({ ...FORECAST, obstacle: "the pool has 7 free inodes" })}\n`);
        call.end();
    });
    shown();
    const user = show(MODELS);
    await user.click(await screen.findByRole("button", { name: "Clone" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Show forecast" }));
    expect(await dialog.findByText("the pool has 7 free inodes")).toBeDefined();
    expect(dialog.getByRole<HTMLButtonElement>("button", { name: "Clone" }).disabled).toBe(true);
});

test("a clone of another session is shown and can be cancelled", async () => {
    const clone = jobOf("clone", { what: "models to models-2", progress: 0.25, seconds_left: 60 });
    says("status", { ...STATUS, jobs: [clone] });
    does("job follow", (call) => call.print(`${JSON.stringify(lineOf(clone))}\n`));
    does("job cancel", (call) => {
        says("status", STATUS);
        call.end(JSON.stringify(lineOf({ ...clone, state: "cancelled" })));
    });
    const user = show();
    expect(await screen.findByRole("progressbar", { name: "Clone of a share: models to models-2" })).toBeDefined();
    await user.click(screen.getByRole("button", { name: "Stop job: Clone of a share" }));
    await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Stop job" }));
    await waitFor(() => expect(argv("job cancel")).toEqual(["job", "cancel", "clone", "--json"]));
});

test("the shares are listed again when a clone has ended", async () => {
    const clone = jobOf("clone");
    says("status", { ...STATUS, jobs: [clone] });
    const asked = () => started("share list").length;
    let before = 0;
    does("job follow", (call) => {
        before = asked();
        says("status", STATUS);
        call.print(`${JSON.stringify(lineOf({ ...clone, state: "done" }))}\n`);
        call.end();
    });
    show();
    await waitFor(() => expect(started("job follow")).toHaveLength(1));
    await waitFor(() => expect(asked()).toBeGreaterThan(before));
    expect(screen.queryByTestId("job-clone")).toBeNull();
});

test("a sealed share is unsealed after a question, and not removed before", async () => {
    shown({ sealed: true });
    says("share unseal", { schema_version: 1, serial: 9, share: null, names: ["models"], verified: [], warnings: [] });
    const user = show(MODELS);
    expect((await screen.findByRole<HTMLButtonElement>("button", { name: "Remove" })).disabled).toBe(true);
    await user.click(screen.getByRole("button", { name: "Unseal" }));
    await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Unseal" }));
    expect(await screen.findByText("Share models is no longer sealed.")).toBeDefined();
});

test("the page of a share says who may, where it is, what is connected and when it was verified", async () => {
    shown({}, { follows: false });
    show(MODELS);
    const who = within(await screen.findByTestId("share-who"));
    expect(who.getByText("anna, ben")).toBeDefined();
    expect(who.getByText(/100 reads of an open file are 100 requests instead of 1/)).toBeDefined();
    expect(who.getByText(/Entries that deny access are refused/)).toBeDefined();
    expect(within(screen.getByTestId("share-where")).getByText(/root:root 0777/).textContent).toContain("does not follow the rule");
    const connected = within(screen.getByTestId("share-connected"));
    expect(connected.getByText("10.0.0.5")).toBeDefined();
    expect(connected.getByText("plan.txt")).toBeDefined();
    expect(within(screen.getByTestId("share-verified")).getByText(/^Served, verified Nov 20/)).toBeDefined();
    expect(screen.getByTestId("share-history")).toBeDefined();
    expect(argv("history")).toEqual(["history", "share:models", "--since", "24h", "--json"]);
});

test("clients of a share are disconnected, and one share is verified", async () => {
    shown();
    says("share disconnect", { schema_version: 1, share: "models", clients: 1 });
    const user = show(MODELS);
    await user.click(await screen.findByRole("button", { name: "Disconnect SMB clients" }));
    await waitFor(() => expect(argv("share disconnect")).toEqual(["share", "disconnect", "models", "--json"]));
    await user.click(screen.getByRole("button", { name: "Verify" }));
    await waitFor(() => expect(argv("share verify")).toEqual(["share", "verify", "models", "--json"]));
});

test("the access log is switched on, and shows the newest access first", async () => {
    shown();
    says("share set", document("share-create.json"));
    const entry = { user: "lena", host: "10.0.0.5", action: "read", path: "a", target: null };
    says("share log", { schema_version: 1, share: "models", audit: true, entries: [
        { ...entry, at: "2026-11-20T11:00:00+00:00" }, { ...entry, at: "2026-11-20T11:01:00+00:00", action: "renamed", target: "b" }],
    lost: [{ at: "2026-11-20T12:00:00+00:00", lines: 900 }, { at: "2026-11-20T13:00:00+00:00", lines: 50 }] });
    const user = show(MODELS);
    const log = within(await screen.findByTestId("share-log"));
    await log.findByText("a → b");
    expect(log.getByText(/^Accesses are missing: 950 lines of the SMB server were dropped until /)).toBeDefined();
    expect(log.getAllByRole("row").map((line) => line.textContent)[1]).toContain("renamed");
    await user.click(log.getByRole("switch"));
    await waitFor(() => expect(argv("share set")).toEqual(["share", "set", "models", "--audit", "--json"]));
});

test("the list is searched by name, user and network", async () => {
    const user = show();
    await row("models");
    await user.type(screen.getByRole("textbox", { name: "Search shares" }), "BEN");
    expect([...screen.getByTestId("shares").querySelectorAll("[data-row]")].map((one) => one.getAttribute("data-row"))).toEqual(["models"]);
    await user.type(screen.getByRole("textbox", { name: "Search shares" }), "x");
    expect(screen.getByText(/^No share has “BENx”/)).toBeDefined();
});

test("what serving both costs stands beside the choice", async () => {
    const user = show(["shares", "create"]);
    expect((await screen.findByTestId("caching")).textContent).toContain("Clients do not cache");
    await user.click(screen.getByRole("switch", { name: "NFS" }));
    expect(screen.getByTestId("caching").textContent).toContain("Clients cache");
});

test("users are made within the form, which keeps what was typed, and open the share", async () => {
    golden("user create");
    const user = show(["shares", "create"]);
    await user.type(await screen.findByLabelText(/^Name/), "plans");
    await user.click(within(screen.getByTestId("part-smb")).getByRole("button", { name: "New user" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(dialog.getByLabelText(/^Name/), "lena");
    await user.type(dialog.getByLabelText(/^Password\s*\*?$/), "s3cret-word-2");
    await user.type(dialog.getByLabelText(/^Password again/), "s3cret-word-2");
    await user.click(dialog.getByRole("button", { name: "Create user" }));
    expect((await screen.findByLabelText<HTMLInputElement>("lena")).checked).toBe(true);
    expect(argv("user create")).toEqual(["user", "create", "lena", "--password-stdin", "--json"]);
    expect(screen.getByLabelText(/^Name/)).toHaveProperty("value", "plans");
});

test("a group is made within the form and writes in the share", async () => {
    says("group create", { schema_version: 1, user: null, group: { name: "crew", gid: 2009 }, done: "Created group crew with GID 2009." });
    const user = show(["shares", "create"]);
    await user.click(within(await screen.findByTestId("part-general")).getByRole("button", { name: "New group" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(dialog.getByLabelText(/^Name/), "crew");
    await user.click(dialog.getByRole("button", { name: "Create group" }));
    await screen.findByText("Created group crew with GID 2009.");
    expect(screen.getByLabelText("Group that writes")).toHaveProperty("value", "crew");
});
