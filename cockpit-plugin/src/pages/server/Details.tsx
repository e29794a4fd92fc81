// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { Topology, TopologyDrive, TopologyPort } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { bytes, percent, UNKNOWN } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { FindingList } from "./Findings";
import { about } from "./model";
import { driveState, linkText, portSpeed, rdmaText, temperature } from "./words";

/** All of the chosen drive or port. */
export function Details({ topology, chosen }: { topology: Topology; chosen: string | undefined }): JSX.Element {
    const drive = topology.nodes.flatMap(({ drives }) => drives).find(({ serial }) => `drive ${serial}` === chosen);
    const port = topology.nodes.flatMap(({ ports }) => ports).find(({ name }) => `port ${name}` === chosen);
    return (
        <div aria-live="polite" data-testid="details">
            {drive && <Facts title={format(_("Drive $0"), drive.serial || drive.name)} facts={driveFacts(drive)}
                findings={about(topology.findings, "drives", drive.serial)} />}
            {port && <Facts title={format(_("Port $0"), port.name)} facts={portFacts(port)} findings={about(topology.findings, "ports", port.name)} />}
            {!drive && !port && <p className="mr-subtle">{_("Select a drive or a port for details.")}</p>}
        </div>
    );
}

function Facts({ title, facts, findings }: {
    title: string; facts: [string, string][]; findings: Topology["findings"];
}): JSX.Element {
    return (
        <Panel title={title}>
            <dl className="mr-columns">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
            {findings.length > 0 && <FindingList findings={findings} />}
        </Panel>
    );
}

function driveFacts(drive: TopologyDrive): [string, string][] {
    return [
        [_("Bay"), drive.bay ?? UNKNOWN],
        [_("Model"), drive.model || UNKNOWN],
        [_("Size"), bytes(drive.size_bytes)],
        [_("State"), driveState(drive)],
        [_("Array"), drive.array ?? _("none")],
        [_("Leg"), drive.leg ?? _("none")],
        [_("PCIe link"), linkText(drive.link)],
        [_("Temperature at boot"), temperature(drive.temperature_celsius)],
        [_("Wear at boot"), drive.wear_percent === null ? UNKNOWN : percent(drive.wear_percent / 100)],
        [_("Kernel name"), drive.present ? drive.name : _("missing")],
    ];
}

function portFacts(port: TopologyPort): [string, string][] {
    return [
        [_("Speed"), portSpeed(port)],
        [_("Addresses"), port.addresses.join(", ") || _("none")],
        [_("RDMA device"), rdmaText(port)],
        [_("Queues"), String(port.queues)],
        [_("Interrupt CPUs"), port.irq_cpus || _("unknown")],
        [_("PCIe link"), linkText(port.pcie)],
        [_("PCIe slot"), port.slot ?? port.pci_address ?? UNKNOWN],
        [_("Driver"), port.driver],
    ];
}
