// SPDX-License-Identifier: Apache-2.0
/** A person opens the console and sees at a glance how the server is. */
import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { App } from "../../src/app";
import { golden, goldenLines, serverIs } from "../golden";
import { does, notified, refuses, says, setAdmin, setHidden, started } from "../mocks/cockpit";

const verdict = () => screen.findByTestId("verdict");

test("a degraded array is on the first page, with what to do, and in Cockpit's menu", async () => {
    serverIs("1u12-degraded");
    render(<App />);
    const shown = await verdict();
    expect(shown.dataset.level).toBe("WARN");
    expect(shown).toHaveProperty("textContent", expect.stringContaining("is missing; it survives 1 more failure"));
    expect(shown.textContent).toContain("Replace the drive: millrace drive replace MRD00000000004");
    await waitFor(() => expect(notified.at(-1)).toMatchObject({ page_status: { type: "warning" } }));
});

test("a server without any fault is well, and the menu is quiet", async () => {
    serverIs("1u12-provisioned");
    const status = golden("1u12-provisioned", "status");
    says("status", { ...status, health: { ...status.health, level: "OK", findings: status.health.findings.filter(({ level }) => level === "OK") } });
    render(<App />);
    expect((await verdict()).textContent).toContain("Healthy");
    await waitFor(() => expect(notified.at(-1)).toEqual({ page_status: null }));
});

test("unknown is never green: a check that could not look, and a level that this page does not know", async () => {
    serverIs("1u12-provisioned");
    const status = golden("1u12-provisioned", "status");
    for (const level of ["UNKNOWN", "SPLENDID"]) {
        says("status", { ...status, health: { ...status.health, level } });
        const { unmount } = render(<App />);
        const shown = await verdict();
        expect(shown.dataset.level).toBe("UNKNOWN");
        expect(shown.textContent).not.toContain("Healthy");
        unmount();
    }
});

test("a server that stopped to answer is not called well any more; the old figures stay, with their age", async () => {
    serverIs("1u12-provisioned");
    const status = golden("1u12-provisioned", "status");
    says("status", { ...status, health: { ...status.health, level: "OK" } });
    render(<App />);
    expect((await verdict()).dataset.level).toBe("OK");
    does("status", (call) => call.fail({ exit_signal: "KILL" }));
    await act(async () => { setHidden(true); setHidden(false); await Promise.resolve(); });
    const stale = await screen.findByTestId("stale");
    expect(stale.textContent).toContain("The server has not responded");
    expect((await verdict()).dataset.level).toBe("UNKNOWN");
    await waitFor(() => expect(notified.at(-1)).toMatchObject({ page_status: { type: "warning" } }));
});

test("what each protocol does is read from the last second, and what is not known is a dash", async () => {
    serverIs("1u12-provisioned");
    const last = goldenLines("1u12-provisioned", "watch").at(-1);
    render(<App />);
    const nfs = await screen.findByTestId("rate-nfs");
    expect(last?.protocols[0]).toMatchObject({ name: "nfs", read_bytes_per_second: 9e9 });
    expect(nfs.textContent).toContain("9\u00a0GB/s");
    expect(within(nfs).getByRole("img").getAttribute("aria-label")).toContain("read 9\u00a0GB/s now");
});

test("what the server feeds is shown with its basis and its bottleneck", async () => {
    serverIs("1u12-provisioned");
    const status = golden("1u12-provisioned", "status");
    const { unmount } = render(<App />);
    const predicted = await screen.findByTestId("feeds");
    expect(predicted.textContent).toContain("8 H100 or 4 B200");
    expect(predicted.textContent).toContain("Predicted from the hardware, not measured yet.");
    unmount();
    says("status", { ...status, fed: { ...status.fed, basis: "clients", at: "2026-11-20T12:00:00+00:00", bound_by: "network", degraded: true } });
    render(<App />);
    const measured = await screen.findByTestId("feeds");
    expect(measured.textContent).toContain("Measured by clients on");
    expect(measured.textContent).toContain("Bottleneck: network.");
    expect(measured.textContent).toContain("An array is degraded.");
});

test("the first second has no rates yet: nothing is claimed", async () => {
    serverIs("1u12-provisioned");
    const first = goldenLines("1u12-provisioned", "watch")[0];
    does("watch", (call) => call.print(`${JSON.stringify(first)}\n`));
    render(<App />);
    const nfs = await screen.findByTestId("rate-nfs");
    const figures = nfs.querySelector(".mr-rate-figures")?.textContent;
    expect(figures).toContain("–");
    expect(figures).not.toMatch(/\d\s?.?B\/s/);
});

test("a rebuild is seen to move, with an estimate", async () => {
    serverIs("1u12-rebuilding");
    render(<App />);
    const jobs = await screen.findByTestId("jobs");
    expect(await within(jobs).findByText("Rebuild: array data")).toBeTruthy();
    expect(within(jobs).getByRole("progressbar").getAttribute("aria-valuenow")).toBe("25");
    expect(jobs.textContent).toContain("63 minutes left");
});

test("without administrative access the page reads as a user, and says so", async () => {
    serverIs("1u12-user");
    setAdmin(false);
    render(<App />);
    expect((await screen.findByTestId("limited-access")).textContent).toContain("Limited access");
    await verdict();
    expect(started("status").every(({ options }) => options.superuser === null)).toBe(true);
    expect((await screen.findByTestId("throughput")).textContent).toContain("requires root");
});

test("while nobody knows what this session may do, neither reason nor figures are made up", () => {
    serverIs("1u12-provisioned");
    setAdmin(null);
    render(<App />);
    expect(screen.queryByTestId("limited-access")).toBeNull();
    expect(started("status")).toHaveLength(0);
});

test("nobody watches while the page is hidden, and the figures come again", async () => {
    serverIs("1u12-provisioned");
    render(<App />);
    await screen.findByTestId("rate-nfs");
    act(() => setHidden(true));
    expect(started("watch").map(({ closed }) => closed)).toEqual(["cancelled"]);
    await act(async () => { setHidden(false); await Promise.resolve(); });
    expect(started("watch")).toHaveLength(2);
});

test("a program that is missing, or prints garbage, is an error with a way to try again", async () => {
    serverIs("1u12-provisioned");
    does("status", (call) => call.end("Segmentation fault"));
    render(<App />);
    const error = await screen.findByTestId("error");
    expect(error.textContent).toContain("printed invalid output");
    expect(error.textContent).toContain("journalctl -b");
    serverIs("1u12-provisioned");
    await userEvent.click(within(error).getByRole("button", { name: "Try again" }));
    expect(await verdict()).toBeTruthy();
});

test("a document that is not what its schema says is an error state, never a blank page", async () => {
    serverIs("1u12-provisioned");
    says("status", { schema: 1, health: { level: "OK" } });
    // React prints what it caught, and jsdom what was rethrown on the way.
    window.addEventListener("error", (event) => event.preventDefault());
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    render(<App />);
    expect((await screen.findByTestId("error")).textContent).toContain("This page cannot be displayed.");
    await waitFor(() => expect(notified.at(-1)).toMatchObject({ page_status: { type: "warning" } }));
    expect(screen.getByRole("link", { name: "Server" })).toBeTruthy();
});

test("on the first day one click confirms the client networks of fixed addresses", async () => {
    serverIs("1u12-closed");
    const networks = golden("1u12-closed", "share networks list");
    const leased = { network: "192.168.1.0/24", port: "enp2s0", leased: true, proposed: false };
    says("share networks list", { ...networks, found: [...networks.found, leased] });
    does("share networks set", (call) => {
        serverIs("1u12-provisioned");
        call.end(JSON.stringify({ schema_version: 1, serial: 1, share: null, names: ["data"], verified: [], warnings: [] }));
    });
    const user = userEvent.setup({ delay: null });
    render(<App />);
    const closed = within(await screen.findByTestId("nfs-closed"));
    const ticked = (await closed.findAllByRole("checkbox")).map((one) => (one as HTMLInputElement).checked);
    expect(ticked).toEqual([true, true, false]);
    expect(closed.getByText("Dynamic address (DHCP or router advertisement).")).toBeTruthy();
    await user.click(closed.getByRole("button", { name: "Confirm networks" }));
    expect(started("share networks set").at(-1)?.argv.slice(1)).toEqual(["share", "networks", "set", "10.77.0.0/24", "10.77.1.0/24", "--json"]);
    await waitFor(() => expect(screen.queryByTestId("nfs-closed")).toBeNull());
});

test("a leased network and others are confirmed by naming them, and a refusal is shown", async () => {
    serverIs("1u12-closed");
    says("share networks list", { schema_version: 1, policy: [], confirmed: [], found: [{ network: "192.168.1.0/24", port: "enp2s0", leased: true, proposed: false }] });
    refuses("share networks set", "'10.1.0.1/24' is an address inside a network: did you mean 10.1.0.0/24?");
    const user = userEvent.setup({ delay: null });
    render(<App />);
    const closed = within(await screen.findByTestId("nfs-closed"));
    const confirm = await closed.findByRole("button", { name: "Confirm networks" });
    expect(confirm).toHaveProperty("disabled", true);
    await user.click(closed.getByLabelText("192.168.1.0/24 on port enp2s0"));
    await user.type(closed.getByLabelText("Other networks"), "10.1.0.1/24, fd00:1::/64");
    await user.click(confirm);
    expect(started("share networks set").at(-1)?.argv.slice(4)).toEqual(["192.168.1.0/24", "10.1.0.1/24", "fd00:1::/64", "--json"]);
    expect(await closed.findByText(/did you mean/)).toBeTruthy();
});

test("who may only look sees that NFS is closed and cannot open it", async () => {
    serverIs("1u12-closed");
    setAdmin(false);
    render(<App />);
    const confirm = await within(await screen.findByTestId("nfs-closed")).findByRole("button", { name: "Confirm networks" });
    await userEvent.setup({ delay: null }).click(confirm);
    expect(started("share networks set")).toEqual([]);
});

const bell = () => screen.findByTestId("bell");

test("the bell counts what nobody has acknowledged, and opens the list with what to do", async () => {
    serverIs("1u12-degraded");
    const user = userEvent.setup({ delay: null });
    render(<App />);
    const list = golden("1u12-degraded", "alert list");
    await waitFor(async () => expect((await bell()).getAttribute("aria-label")).toBe(`${list.alerts.length} open alerts`));
    expect((await bell()).textContent).toBe(String(list.alerts.length));
    expect(screen.queryByTestId("open-alerts")).toBeNull();
    await user.click(await bell());
    expect((await bell()).getAttribute("aria-expanded")).toBe("true");
    const [first] = await within(await screen.findByTestId("open-alerts")).findAllByRole("listitem");
    expect(first?.textContent).toContain("bay 4 (MRD00000000004) is missing");
    expect(first?.textContent).toContain("Replace the drive: millrace drive replace MRD00000000004");
});

test("an acknowledged alert stays in the list with who acknowledged it, and the bell counts it no longer", async () => {
    serverIs("1u12-degraded");
    const list = golden("1u12-degraded", "alert list");
    const [first, ...others] = list.alerts;
    does("alert ack", (call) => {
        const known = { ...list, alerts: [{ ...first, acknowledged: "anna" }, ...others] };
        says("alert list", known);
        call.end(JSON.stringify(known));
    });
    const user = userEvent.setup({ delay: null });
    render(<App />);
    await user.click(await bell());
    await user.click(await screen.findByRole("button", { name: "Acknowledge arrays/data" }));
    expect(started("alert ack").at(-1)?.argv.slice(1)).toEqual(["alert", "ack", "arrays/data", "--json"]);
    expect(started("alert ack").at(-1)?.options.superuser).toBe("require");
    expect(await screen.findByText(/acknowledged by anna/)).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Acknowledge arrays/data" })).toBeNull();
    expect((await bell()).textContent).toBe(String(others.length));
});

test("an alert that has ended meanwhile cannot be acknowledged, and the sentence of the program is shown", async () => {
    serverIs("1u12-degraded");
    refuses("alert ack", "no open alert has the key 'arrays/data': millrace alert list");
    const user = userEvent.setup({ delay: null });
    render(<App />);
    await user.click(await bell());
    await user.click(await screen.findByRole("button", { name: "Acknowledge arrays/data" }));
    expect(await screen.findByText(/no open alert has the key/)).toBeTruthy();
});

test("with limited access the alerts are seen and not acknowledged", async () => {
    serverIs("1u12-degraded");
    setAdmin(false);
    const user = userEvent.setup({ delay: null });
    render(<App />);
    await user.click(await bell());
    const acknowledge = await screen.findByRole("button", { name: "Acknowledge arrays/data" });
    expect(acknowledge.getAttribute("aria-disabled")).toBe("true");
    await user.click(acknowledge);
    expect(started("alert ack")).toEqual([]);
    expect(started("alert list").every(({ options }) => options.superuser === null)).toBe(true);
});

test("without an open alert the bell is quiet, and messages that wait are not hidden", async () => {
    serverIs("1u12-provisioned");
    says("alert list", { schema_version: 1, alerts: [], waiting: 2 });
    const user = userEvent.setup({ delay: null });
    render(<App />);
    await waitFor(async () => expect((await bell()).getAttribute("aria-label")).toBe("No open alerts"));
    expect((await bell()).textContent).toBe("");
    await user.click(await bell());
    const panel = await screen.findByTestId("open-alerts");
    expect(panel.textContent).toContain("No alert is open.");
    expect(panel.textContent).toContain("2 messages have not been delivered yet.");
});
