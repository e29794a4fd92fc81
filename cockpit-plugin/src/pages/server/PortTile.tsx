// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { TopologyFinding, TopologyPort } from "../../types/millrace";
import { _, format } from "../../lib/i18n";
import { slower } from "./model";
import { Tile, worstOf } from "./Tile";
import { linkText, portSpeed } from "./words";

export function PortTile({ port, findings, chosen, choose }: {
    port: TopologyPort; findings: TopologyFinding[]; chosen: boolean; choose: () => void;
}): JSX.Element {
    const label = [
        format(_("Port $0"), port.name), portSpeed(port), port.rdma ? _("with RDMA") : _("without RDMA"), linkText(port.pcie),
        ...findings.map(({ what }) => what),
    ].join(", ");
    return (
        <Tile kind="port" label={label} tone="port" chosen={chosen} choose={choose} gone={!port.link} worst={worstOf(findings)} testId={`port-${port.name}`}>
            <strong>{port.name}</strong>
            <span>{portSpeed(port)}{port.rdma && !port.software_rdma ? " · RDMA" : ""}</span>
            <small className={slower(port.pcie) ? "mr-slow" : ""}>{port.pcie ? `PCIe ${port.pcie.gts} GT/s ×${port.pcie.width}` : "\u00a0"}</small>
        </Tile>
    );
}
