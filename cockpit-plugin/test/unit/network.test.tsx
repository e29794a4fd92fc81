// SPDX-License-Identifier: Apache-2.0
/** Network: links as they are, each change with its words, and the minute in which it is confirmed or rolled back. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { StatusProvider } from "../../src/lib/status";
import Network from "../../src/pages/network";
import type { NetworkReport } from "../../src/types/millrace";
import { document, golden } from "../documents";
import { open, refuses, says, setAdmin, started } from "../mocks/cockpit";

const STATUS = { schema_version: 1, health: { level: "OK", findings: [] }, pool: {}, space: null, shares: [], jobs: [] };

function show(): ReturnType<typeof userEvent.setup> {
    open(["network"]);
    render(<StatusProvider><Network /></StatusProvider>);
    return userEvent.setup({ delay: null });
}

const shown = async () => within(await screen.findByTestId("links")).findByText("enp1s0", { selector: "strong" });
const row = async (name: string) => {
    await shown();
    const found = (await screen.findByTestId("links")).querySelector(`[data-row="${name}"]`);
    if (!(found instanceof HTMLElement)) throw new Error(`no row of ${name}`);
    return within(found);
};
const dialog = () => within(screen.getByRole("dialog"));
const argv = (verb: string) => started(verb).at(-1)?.argv.slice(1);

beforeEach(() => {
    says("status", STATUS);
    golden("network show");
});

test("ports, bonds and VLANs stand with what they are and have", async () => {
    show();
    await shown();
    expect((await row("bond0")).getByText("Bond (LACP)")).toBeDefined();
    expect((await row("bond0")).getByText("LACP partner 02:00:00:00:00:99")).toBeDefined();
    expect((await row("bond0")).getByText("1 of 1 ports carry data")).toBeDefined();
    expect((await row("vlan100")).getByText("VLAN 100 on enp1s0")).toBeDefined();
    expect((await row("vlan100")).getByText("9000")).toBeDefined();
    expect((await row("enp2s0")).getByText("part of bond0")).toBeDefined();
    expect((await row("enp2s0")).queryByRole("button", { name: "Change enp2s0" })).toBeNull();
    const servers = within(screen.getByTestId("servers"));
    expect(servers.getByText("10.1.0.53")).toBeDefined();
    expect(servers.getByText("10.2.0.0/16 through 10.1.0.2")).toBeDefined();
});

test("a bond with a dead port and without a partner is marked", async () => {
    const report = document<NetworkReport>("network-show.json");
    says("network show", { ...report, links: report.links.map((one) => (one.kind === "bond" ? { ...one, active: [], partner: null } : one)) });
    show();
    await shown();
    expect((await row("bond0")).getByText("enp2s0 carries no data").closest("[data-level]")?.getAttribute("data-level")).toBe("WARN");
    expect((await row("bond0")).getByText("No LACP partner")).toBeDefined();
});

test("a VLAN with MTU 9000 is made in seven clicks", async () => {
    golden("network show", "plain");
    golden("network vlan");
    golden("network confirm");
    const user = show();
    await shown();
    // the first click opened the page
    let clicks = 1;
    const click = async (element: HTMLElement) => { clicks += 1; await user.click(element); };
    const type = async (label: string | RegExp, text: string) => { await click(dialog().getByLabelText(label)); await user.paste(text); };
    await click(screen.getByRole("button", { name: "Add VLAN…" }));
    await type(/VLAN ID/, "100");
    await type(/^Addresses(?! from)/, "10.9.0.1/24");
    await type(/^MTU/, "9000");
    golden("network show", "waiting");
    await click(dialog().getByRole("button", { name: "Add" }));
    await click(await screen.findByRole("button", { name: "Keep the change" }));
    expect(argv("network vlan")).toEqual(["network", "vlan", "enp1s0", "100", "--address=10.9.0.1/24", "--mtu=9000", "--json"]);
    expect(started("network confirm")).toHaveLength(1);
    expect(clicks).toBeLessThanOrEqual(8);
});

test("a change that waits is counted down, locks the others, and can be rolled back", async () => {
    golden("network show", "waiting");
    golden("network confirm");
    says("network rollback", document("network-confirm.json"));
    const user = show();
    const trial = within(await screen.findByTestId("trial"));
    expect(trial.getByText("Rolled back in 60 seconds unless confirmed.")).toBeDefined();
    expect(trial.getByText("vlan 100 on enp1s0, by admin")).toBeDefined();
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Add VLAN…" }).disabled).toBe(true);
    await user.click(trial.getByRole("button", { name: "Roll back" }));
    expect(started("network rollback")).toHaveLength(1);
});

test("a change that was rolled back says why until that is closed", async () => {
    golden("network show", "rolled-back");
    const user = show();
    const trial = within(await screen.findByTestId("trial"));
    expect(trial.getByText(/nobody confirmed it within 60 s/)).toBeDefined();
    await user.click(trial.getByRole("button", { name: "Close" }));
    expect(screen.queryByTestId("trial")).toBeNull();
});

test("only what was changed of a link is sent", async () => {
    golden("network vlan");
    says("network set", document("network-vlan.json"));
    const user = show();
    await user.click((await row("enp1s0")).getByRole("button", { name: "Change enp1s0" }));
    const apply = dialog().getByRole<HTMLButtonElement>("button", { name: "Apply" });
    expect(apply.disabled).toBe(true);
    await user.click(dialog().getByLabelText(/^MTU/));
    await user.paste("9000");
    await user.click(apply);
    expect(argv("network set")).toEqual(["network", "set", "enp1s0", "--mtu=9000", "--json"]);
});

test("a link goes back to DHCP and serves the web console alone", async () => {
    says("network set", document("network-vlan.json"));
    const user = show();
    await user.click((await row("enp1s0")).getByRole("button", { name: "Change enp1s0" }));
    await user.selectOptions(dialog().getByLabelText("Addresses from"), "dhcp");
    await user.click(dialog().getByLabelText("For the web console only"));
    await user.click(dialog().getByRole("button", { name: "Apply" }));
    expect(argv("network set")).toEqual(["network", "set", "enp1s0", "--dhcp", "--management", "--json"]);
});

test("the sentence of a refusal stays in the dialog", async () => {
    golden("network show", "plain");
    refuses("network vlan", "the VLAN ID 4095 is out of range: use 1 to 4094");
    const user = show();
    await shown();
    await user.click(screen.getByRole("button", { name: "Add VLAN…" }));
    await user.click(dialog().getByLabelText(/VLAN ID/));
    await user.paste("4095");
    await user.selectOptions(dialog().getByLabelText("Addresses from"), "none");
    await user.click(dialog().getByRole("button", { name: "Add" }));
    expect(await dialog().findByText("the VLAN ID 4095 is out of range: use 1 to 4094")).toBeDefined();
});

test("a bond of two ports takes their addresses", async () => {
    golden("network show", "plain");
    says("network bond", document("network-vlan.json"));
    const user = show();
    await shown();
    await user.click(screen.getByRole("button", { name: "Add bond…" }));
    await user.click(dialog().getByLabelText("enp1s0"));
    await user.click(dialog().getByLabelText("enp2s0"));
    await user.selectOptions(dialog().getByLabelText("Mode"), "active-backup");
    await user.click(dialog().getByRole("button", { name: "Add" }));
    expect(argv("network bond")).toEqual(["network", "bond", "bond0", "enp1s0", "enp2s0", "--mode=active-backup", "--json"]);
});

test("a VLAN is removed after a question", async () => {
    says("network remove", document("network-vlan.json"));
    const user = show();
    await user.click((await row("vlan100")).getByRole("button", { name: "Remove vlan100" }));
    await user.click(dialog().getByRole("button", { name: "Remove" }));
    expect(argv("network remove")).toEqual(["network", "remove", "vlan100", "--json"]);
});

test("name servers, time servers, routes and the host name are changed", async () => {
    for (const verb of ["network dns", "network ntp", "network routes"] as const) says(verb, document("network-vlan.json"));
    golden("network confirm");
    says("network hostname", document("network-confirm.json"));
    const user = show();
    await shown();
    await user.click(screen.getByRole("button", { name: "Change DNS and NTP…" }));
    await user.click(dialog().getByLabelText("DNS servers"));
    await user.paste(" 10.1.0.54");
    await user.click(dialog().getByRole("button", { name: "Apply" }));
    expect(argv("network dns")).toEqual(["network", "dns", "10.1.0.53", "10.1.0.54", "--search=example.com", "--json"]);
    await user.click(screen.getByRole("button", { name: "Change DNS and NTP…" }));
    await user.selectOptions(dialog().getByLabelText("Servers"), "ntp");
    await user.click(dialog().getByLabelText("NTP servers"));
    await user.paste("ntp.example.com");
    await user.click(dialog().getByRole("button", { name: "Apply" }));
    expect(argv("network ntp")).toEqual(["network", "ntp", "ntp.example.com", "--json"]);
    await user.click(screen.getByRole("button", { name: "Change routes…" }));
    await user.clear(dialog().getByLabelText("Static routes"));
    await user.click(dialog().getByRole("button", { name: "Apply" }));
    expect(argv("network routes")).toEqual(["network", "routes", "--json"]);
    await user.click(screen.getByRole("button", { name: "Change host name…" }));
    await user.clear(dialog().getByLabelText(/Host name/));
    await user.paste("nas_1");
    expect(dialog().getByText(/is not a host name/)).toBeDefined();
    await user.clear(dialog().getByLabelText(/Host name/));
    await user.paste("nas-1");
    await user.click(dialog().getByRole("button", { name: "Apply" }));
    expect(argv("network hostname")).toEqual(["network", "hostname", "nas-1", "--json"]);
    expect(await screen.findByText("The change is in force.")).toBeDefined();
});

test.each([
    ["network-path-mtu.json", "OK", "The path to 10.9.0.20 carries the 9000 bytes of enp1s0."],
    ["network-path-mtu.less.json", "WARN", "The path to 10.9.0.20 carries 1500 bytes; enp1s0 sends 9000."],
    ["network-path-mtu.silent.json", "UNKNOWN", "10.9.0.20 answers no ping through enp1s0."],
])("a path is tested: %s", async (file, level, sentence) => {
    says("network path-mtu", document(file));
    const user = show();
    await shown();
    await user.click(screen.getByLabelText("Address of the client"));
    await user.paste("10.9.0.20");
    await user.click(screen.getByRole("button", { name: "Test the path" }));
    expect((await screen.findByText(sentence)).closest("[data-level]")?.getAttribute("data-level")).toBe(level);
    expect(argv("network path-mtu")).toEqual(["network", "path-mtu", "10.9.0.20", "--json"]);
});

test("without administrative access nothing is changed", async () => {
    setAdmin(false);
    const user = show();
    await shown();
    await user.click(screen.getByRole("button", { name: "Add VLAN…" }));
    expect(screen.queryByRole("dialog")).toBeNull();
});
