// SPDX-License-Identifier: Apache-2.0
/** A person looks at the drawing and sees in five seconds what hangs where. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { App } from "../../src/app";
import type { Topology } from "../../src/types/millrace";
import { groupTones } from "../../src/pages/server/model";
import { arrayTones } from "../../src/pages/storage/words";
import { golden, serverIs } from "../golden";
import { open, refuses, says } from "../mocks/cockpit";

beforeEach(() => open(["server"]));

/** The same server with all ports at the first processor. */
function allPortsOnOneSide(): Topology {
    const topology = golden("1u12-provisioned", "topology");
    const [first, second] = topology.nodes;
    if (!first || !second) throw new Error("two nodes are needed");
    return { ...topology, nodes: [{ ...first, ports: [...first.ports, ...second.ports] }, { ...second, ports: [] }] };
}

test("an array or a leg has the same colour on every page", () => {
    for (const state of ["1u12-provisioned", "2u24-far-ports"] as const)
        expect([...groupTones(golden(state, "topology"))]).toEqual([...arrayTones(golden(state, "pool show").arrays)]);
});

test("ports on every processor: nothing crosses", async () => {
    serverIs("1u12-provisioned");
    render(<App />);
    expect((await screen.findByTestId("path")).dataset.level).toBe("OK");
    expect(screen.getByTestId("node-1").dataset.far).toBe("false");
});

test("all ports hang on the other socket: it is the first thing that is said, and it is drawn", async () => {
    serverIs("1u12-provisioned");
    says("topology", allPortsOnOneSide());
    render(<App />);
    const path = await screen.findByTestId("path");
    expect(path.dataset.level).toBe("WARN");
    expect(path.textContent).toContain("5 of 10 data drives are on a remote NUMA node: all network ports are on Socket 0");
    expect(screen.getByTestId("node-1").dataset.far).toBe("true");
    expect(screen.getByTestId("node-1").textContent).toContain("all traffic crosses NUMA nodes");
});

test("a port without a link does not count", async () => {
    serverIs("1u12-provisioned");
    const topology = golden("1u12-provisioned", "topology");
    says("topology", { ...topology, nodes: topology.nodes.map((node) => (node.node === 1 ? { ...node, ports: node.ports.map((port) => ({ ...port, link: false })) } : node)) });
    render(<App />);
    expect((await screen.findByTestId("path")).dataset.level).toBe("WARN");
});

test("several nodes of one processor are one side", async () => {
    serverIs("1u12-provisioned");
    const topology = allPortsOnOneSide();
    says("topology", { ...topology, nodes: topology.nodes.map((node) => ({ ...node, socket: 0 })) });
    render(<App />);
    expect((await screen.findByTestId("path")).dataset.level).toBe("OK");
});

test("no port with a link is no good news", async () => {
    serverIs("1u12-provisioned");
    const topology = golden("1u12-provisioned", "topology");
    says("topology", { ...topology, nodes: topology.nodes.map((node) => ({ ...node, ports: [] })) });
    render(<App />);
    expect((await screen.findByTestId("path")).dataset.level).toBe("UNKNOWN");
});

test("drives stand in the order of their bays, each told in words", async () => {
    serverIs("1u12-degraded");
    render(<App />);
    const drives = within(within(await screen.findByTestId("node-1")).getByRole("group", { name: "Drives" })).getAllByRole("button");
    expect(drives.map((one) => one.textContent.slice(0, 6))).toEqual(["Bay 27", "Bay 4m", "Bay 67", "Bay 87", "Bay 10", "Bay 12"]);
    expect(drives[1]?.getAttribute("aria-label")).toContain("Bay 4, 7.68\u00a0TB, in data, missing");
});

test("a link below what it could be is marked where it is, with what to do", async () => {
    serverIs("1u12-provisioned");
    render(<App />);
    const slow = await screen.findByTestId("drive-MRD00000000007");
    expect(slow.getAttribute("aria-label")).toContain("PCIe link at 16 GT/s ×4, capable of 32 GT/s ×4");
    await userEvent.click(slow);
    expect(slow.getAttribute("aria-pressed")).toBe("true");
    const details = screen.getByTestId("details");
    expect(details.textContent).toContain("MRD00000000007");
    expect(details.textContent).toContain("Reseat the drive");
});

test("all of it is there as tables, too", async () => {
    serverIs("1u12-provisioned");
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Tables" }));
    const rows = within(screen.getByTestId("drives-table")).getAllByRole("row");
    expect(rows).toHaveLength(1 + golden("1u12-provisioned", "topology").nodes.flatMap(({ drives }) => drives).length);
    expect(screen.getByRole("grid", { name: "Network ports" }).textContent).toContain("mlx5_0");
});

test("a server without drives, and one that cannot be looked at", async () => {
    serverIs("empty");
    says("topology", { ...golden("empty", "topology"), nodes: [] });
    const { unmount } = render(<App />);
    expect((await screen.findByTestId("empty")).textContent).toContain("No drives or network ports");
    unmount();
    refuses("topology", "There is no inventory yet: wait for millrace-inventory.service.");
    render(<App />);
    expect((await screen.findByTestId("error")).textContent).toContain("There is no inventory yet");
});
