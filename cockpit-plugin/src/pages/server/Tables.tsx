// SPDX-License-Identifier: Apache-2.0
/** The drawing for those who do not see it, or want to sort it. */
import type { JSX } from "react";
import type { TopologyNode } from "../../types/millrace";
import { DataTable } from "../../components/DataTable";
import { bytes, percent, UNKNOWN } from "../../lib/format";
import { _ } from "../../lib/i18n";
import { driveState, linkText, portSpeed, rdmaText, temperature } from "./words";

const at = (node: TopologyNode): string => (node.node === null ? UNKNOWN : String(node.node));

export function DriveTable({ nodes }: { nodes: TopologyNode[] }): JSX.Element {
    return (
        <DataTable label={_("Drives")} testId="drives-table" rowKey={({ drive }) => drive.serial || drive.name}
            rows={nodes.flatMap((node) => node.drives.map((drive) => ({ node, drive })))}
            columns={[
                { title: _("Bay"), cell: ({ drive }) => drive.bay ?? UNKNOWN, sort: ({ drive }) => Number(drive.bay) || (drive.bay ?? ""), heads: true },
                { title: _("Serial number"), cell: ({ drive }) => drive.serial || drive.name, sort: ({ drive }) => drive.serial },
                { title: _("Node"), cell: ({ node }) => at(node), sort: ({ node }) => at(node) },
                { title: _("Size"), cell: ({ drive }) => bytes(drive.size_bytes), sort: ({ drive }) => drive.size_bytes, figures: true },
                { title: _("Array"), cell: ({ drive }) => drive.leg ?? drive.array ?? _("none"), sort: ({ drive }) => drive.leg ?? drive.array ?? "" },
                { title: _("State"), cell: ({ drive }) => driveState(drive), sort: ({ drive }) => driveState(drive) },
                { title: _("PCIe link"), cell: ({ drive }) => linkText(drive.link) },
                { title: _("Temperature"), cell: ({ drive }) => temperature(drive.temperature_celsius), sort: ({ drive }) => drive.temperature_celsius ?? -1, figures: true },
                { title: _("Wear"), cell: ({ drive }) => (drive.wear_percent === null ? UNKNOWN : percent(drive.wear_percent / 100)), sort: ({ drive }) => drive.wear_percent ?? -1, figures: true },
            ]} />
    );
}

export function PortTable({ nodes }: { nodes: TopologyNode[] }): JSX.Element {
    return (
        <DataTable label={_("Network ports")} testId="ports-table" rowKey={({ port }) => port.name}
            rows={nodes.flatMap((node) => node.ports.map((port) => ({ node, port })))}
            columns={[
                { title: _("Port"), cell: ({ port }) => port.name, sort: ({ port }) => port.name, heads: true },
                { title: _("Node"), cell: ({ node }) => at(node), sort: ({ node }) => at(node) },
                { title: _("Speed"), cell: ({ port }) => portSpeed(port), sort: ({ port }) => port.speed_mbit ?? -1 },
                { title: _("Addresses"), cell: ({ port }) => port.addresses.join(", ") || _("none") },
                { title: _("RDMA device"), cell: ({ port }) => rdmaText(port) },
                { title: _("Interrupt CPUs"), cell: ({ port }) => port.irq_cpus || _("unknown") },
                { title: _("PCIe link"), cell: ({ port }) => linkText(port.pcie) },
            ]} />
    );
}
