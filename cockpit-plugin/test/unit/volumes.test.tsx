// SPDX-License-Identifier: Apache-2.0
/** Volumes: what is served and what is not, and each change with its words, its stdin and what is refused. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { StatusProvider } from "../../src/lib/status";
import Volumes from "../../src/pages/volumes";
import type { VolumeList } from "../../src/types/millrace";
import { document, golden } from "../documents";
import { calls, open, refuses, says, setAdmin, started } from "../mocks/cockpit";

const STATUS = { schema_version: 1, health: { level: "OK", findings: [] }, pool: {}, space: null, shares: [], jobs: [] };
const NQN = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555";
const OTHER = "nqn.2014-08.org.nvmexpress:uuid:66666666-7777-8888-9999-aaaaaaaaaaaa";
const SECRET = "DHHC-1:00:ia6zGodOr4SEG0Zzaw398rpY0wqipUWj4jWjUh4HWUz6aQ2n:";

function show(): ReturnType<typeof userEvent.setup> {
    open(["volumes"]);
    render(<StatusProvider><Volumes /></StatusProvider>);
    return userEvent.setup({ delay: null });
}

const row = async (name: string) => {
    const found = (await screen.findByTestId("volumes")).querySelector(`[data-row="${name}"]`);
    if (!(found instanceof HTMLElement)) throw new Error(`no row of ${name}`);
    return within(found);
};
const dialog = () => within(screen.getByRole("dialog"));
const button = (name: string) => dialog().getByRole<HTMLButtonElement>("button", { name });
const argv = (verb: string) => started(verb).at(-1)?.argv.slice(1);

/** Long texts are pasted, as people do. */
async function put(user: ReturnType<typeof userEvent.setup>, field: HTMLElement, text: string): Promise<void> {
    await user.click(field);
    await user.paste(text);
}

/** Opens the dialog of a button in the row of a volume. */
async function asked(name: string, label: string): Promise<ReturnType<typeof userEvent.setup>> {
    const user = show();
    await user.click((await row(name)).getByRole("button", { name: label }));
    return user;
}

beforeEach(() => {
    says("status", STATUS);
    golden("volume list");
});

test("size, export, connected hosts and state stand side by side", async () => {
    show();
    const tank = await row("tank");
    expect(tank.getByText("11 TB")).toBeDefined();
    expect(tank.getByText("NVMe/TCP, port 4420")).toBeDefined();
    expect(tank.getByText(NQN)).toBeDefined();
    expect(tank.getByText("hosts authenticate with DH-HMAC-CHAP")).toBeDefined();
    expect(tank.getByText("10.0.0.9").parentElement?.textContent).toContain("1 connection");
    expect(tank.getByText("Served").closest("[data-level]")?.getAttribute("data-level")).toBe("OK");
    const clone = await row("tank-2");
    expect(clone.getByText("cloned from tank")).toBeDefined();
    expect(clone.getAllByText("Not exported")).toHaveLength(2);
    expect(clone.queryByRole("button", { name: "Detach tank-2" })).toBeNull();
    expect(clone.queryByRole("button", { name: "Connect tank-2 on a host" })).toBeNull();
});

test("a volume that is not served says why, and its hosts are not said to be none", async () => {
    show();
    const scratch = await row("scratch");
    expect(scratch.getByText("Not served").closest("[data-level]")?.getAttribute("data-level")).toBe("FAIL");
    expect(scratch.getByText("it listens on no address")).toBeDefined();
    expect(scratch.queryByText("No host is connected")).toBeNull();
    expect(scratch.getByText("hosts are known by their NQN alone · several hosts, with NVMe reservations")).toBeDefined();
});

test("a volume whose host discarded blocks is marked", async () => {
    const list = document<VolumeList>("volume-list.json");
    says("volume list", { ...list, volumes: list.volumes.map((one) => ({ ...one, allocated: one.name === "tank" ? 10 ** 12 : one.allocated })) });
    show();
    expect((await row("tank")).getByText("1 TB of 11 TB allocated").closest("[data-level]")?.getAttribute("data-level")).toBe("WARN");
    expect((await row("tank-2")).getByText("all of it allocated")).toBeDefined();
});

test("what health finds about volumes stands above the list", async () => {
    const finding = { check: "volumes", level: "WARN", sentence: "volume tank is not served", todo: "look at it", action: null };
    says("status", { ...STATUS, health: { level: "WARN", findings: [finding, { ...finding, check: "arrays", sentence: "an array is degraded" }] } });
    show();
    expect(await screen.findByText(/volume tank is not served/)).toBeDefined();
    expect(screen.queryByText(/an array is degraded/)).toBeNull();
});

test("the lines that connect a volume are those of the program", async () => {
    await asked("tank", "Connect tank on a host");
    const text = screen.getByRole("dialog").textContent;
    for (const address of ["10.0.0.2", "10.0.1.2"]) expect(text).toContain(`nvme connect -t tcp -a ${address} -s 4420 -n nqn.2014-08.org.nvmexpress:uuid:`);
    expect(dialog().getByText("Replace … by the secret of the host.")).toBeDefined();
});

test("a new volume is exported with its secret on stdin and nowhere else", async () => {
    golden("volume create");
    const user = show();
    await row("tank");
    await user.click(screen.getByRole("button", { name: "New volume" }));
    await user.type(dialog().getByLabelText(/^Name/), "tank");
    expect(dialog().getByText("volume tank already exists: choose another name")).toBeDefined();
    await user.type(dialog().getByLabelText(/^Name/), "9");
    await user.type(dialog().getByLabelText(/^Size/), "10X");
    expect(dialog().getByText(/^'10X' is not the size of a volume/)).toBeDefined();
    await user.clear(dialog().getByLabelText(/^Size/));
    await user.type(dialog().getByLabelText(/^Size/), "10T");
    await user.type(dialog().getByLabelText(/^NQN of the host/), "gpu-01");
    expect(dialog().getByText(/^'gpu-01' is not an NQN/)).toBeDefined();
    await user.clear(dialog().getByLabelText(/^NQN of the host/));
    await put(user, dialog().getByLabelText(/^NQN of the host/), NQN);
    expect(button("Create volume").disabled).toBe(true);
    await put(user, dialog().getByLabelText(/^Addresses of the hosts/), "10.0.0.9, 10.0.1.0/24");
    expect(button("Create volume").disabled).toBe(false);
    await user.click(dialog().getByLabelText("Authenticate hosts with DH-HMAC-CHAP"));
    expect(button("Create volume").disabled).toBe(true);
    await put(user, dialog().getByLabelText(/^DH-HMAC-CHAP secret/), SECRET);
    await user.click(button("Create volume"));
    await screen.findByText("Volume tank has been created.");
    const [made] = started("volume create");
    expect(made?.argv.slice(1)).toEqual(["volume", "create", "tank9", "--size=10T", "--export=tcp", `--host=${NQN}`, "--address=10.0.0.9", "--address=10.0.1.0/24", "--dhchap-stdin", "--json"]);
    expect(made?.input).toBe(`${SECRET}\n`);
    expect(made?.options.superuser).toBe("require");
    expect(JSON.stringify(calls.map((call) => call.argv))).not.toContain("DHHC");
    expect(screen.getByTestId("done").textContent).toContain("nvme connect -t tcp -a 10.0.0.2");
});

test("several hosts need the tick, and none is named twice", async () => {
    golden("volume export");
    const user = await asked("tank-2", "Export tank-2");
    expect(dialog().queryByRole("button", { name: "Add host" })).toBeNull();
    await user.selectOptions(dialog().getByLabelText("Transport"), "rdma");
    await user.click(dialog().getByLabelText("Several hosts write it"));
    await user.click(button("Add host"));
    const [first, second] = dialog().getAllByLabelText(/^NQN of the host/) as [HTMLElement, HTMLElement];
    await put(user, first, NQN);
    await put(user, second, NQN);
    expect(dialog().getByText("This host is named twice.")).toBeDefined();
    expect(button("Export").disabled).toBe(true);
    await user.clear(second);
    await put(user, second, OTHER);
    await put(user, dialog().getByLabelText(/^Addresses of the hosts/), "10.0.0.0/24");
    await user.click(button("Export"));
    await screen.findByText("Volume tank-2 is exported.");
    expect(argv("volume export")).toEqual(["volume", "export", "tank-2", "--transport=rdma", `--host=${NQN}`, `--host=${OTHER}`, "--address=10.0.0.0/24", "--shared", "--json"]);
    expect(started("volume export")[0]?.input).toBe("");
});

test("a smaller size is refused in the program's words, a larger one is taken", async () => {
    const refused = "volume scratch has 2.2 TB and cannot shrink: its host would lose what is at its end";
    refuses("volume resize", refused);
    const user = await asked("scratch", "Resize scratch");
    const field = dialog().getByLabelText(/^New size/);
    expect(button("Resize").disabled).toBe(true);
    await user.type(field, "1T");
    await user.click(button("Resize"));
    await screen.findByText(refused);
    expect(field).toHaveProperty("value", "1T");
    golden("volume resize");
    await user.clear(field);
    await user.type(field, "2T");
    await user.click(button("Resize"));
    await screen.findByText("Volume scratch has been resized.");
    expect(argv("volume resize")).toEqual(["volume", "resize", "scratch", "--size=2T", "--json"]);
});

test("a clone of a connected volume says what is in it, and warnings are kept", async () => {
    const warning = "tank and tank-2 share their blocks, and each write to them takes new ones: the pool has 1 TB left for 11 TB";
    says("volume clone", { ...document("volume-clone.json"), warnings: [warning] });
    const user = await asked("tank", "Clone tank");
    expect(dialog().getByText(/^A host is connected/)).toBeDefined();
    const name = dialog().getByLabelText(/^Name of the clone/);
    expect(name).toHaveProperty("value", "tank-2");
    expect(button("Clone").disabled).toBe(true);
    await user.clear(name);
    await user.type(name, "tank-3");
    await user.click(button("Clone"));
    await screen.findByText(/has been created as a clone\.$/);
    expect(screen.getByText(warning)).toBeDefined();
    expect(argv("volume clone")).toEqual(["volume", "clone", "tank", "tank-3", "--json"]);
});

test("a connected host is disconnected by a tick and not without", async () => {
    const refused = "volume tank has a connected host (10.0.0.9)";
    refuses("volume detach", refused);
    const user = await asked("tank", "Detach tank");
    expect(dialog().getByText("Connected: 10.0.0.9.")).toBeDefined();
    await user.click(button("Detach"));
    await screen.findByText(refused);
    expect(argv("volume detach")).toEqual(["volume", "detach", "tank", "--json"]);
    golden("volume detach");
    await user.click(dialog().getByLabelText("Also while a host is connected"));
    await user.click(button("Disconnect hosts and detach"));
    await screen.findByText("Volume tank-2 is no longer exported; its data stays.");
    expect(argv("volume detach")).toEqual(["volume", "detach", "tank", "--disconnect", "--json"]);
});

test("removing deletes the data and needs the name", async () => {
    golden("volume remove");
    const user = await asked("tank-2", "Remove tank-2");
    await user.type(dialog().getByLabelText(/^Type “tank-2”/), "tank");
    expect(button("Remove volume and delete data").disabled).toBe(true);
    await user.type(dialog().getByLabelText(/^Type “tank-2”/), "-2");
    await user.click(button("Remove volume and delete data"));
    await screen.findByText("Volume tank-2 and its data have been removed.");
    expect(argv("volume remove")).toEqual(["volume", "remove", "tank-2", "--delete-data=tank-2", "--json"]);
});

test("without volumes the page says what one is", async () => {
    golden("volume list", "empty");
    show();
    await screen.findByText("No volumes yet");
    expect(screen.queryByText("No pool yet")).toBeNull();
});

test("without a pool nothing is asked of it", async () => {
    says("status", { ...STATUS, pool: null });
    show();
    await screen.findByText("No pool yet");
    expect(started("volume list")).toEqual([]);
    expect(screen.getByRole("button", { name: "New volume" })).toHaveProperty("disabled", true);
});

test("with limited access the page says so and asks nothing as root", async () => {
    setAdmin(false);
    show();
    await screen.findByText("Listing volumes requires administrative access.");
    expect(screen.getByRole("button", { name: "New volume" }).getAttribute("aria-disabled")).toBe("true");
    expect(calls.every((call) => call.options.superuser === null)).toBe(true);
});
