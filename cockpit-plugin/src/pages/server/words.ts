// SPDX-License-Identifier: Apache-2.0
import type { TopologyLink, TopologyDrive, TopologyPort } from "../../types/millrace";
import { number, UNKNOWN } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { slower } from "./model";

export function driveState(drive: TopologyDrive): string {
    if (!drive.present) return _("missing");
    switch (drive.member) {
    case "in-sync": return _("in sync");
    case "rebuilding": return _("rebuilding");
    case "spare": return _("hot spare");
    case "faulty": return _("faulty");
    case "missing": return _("missing");
    case "unknown": return _("state unknown");
    default:
    }
    switch (drive.state) {
    case "blank": return _("blank");
    case "ours": return _("member of a Millrace pool");
    case "foreign": return _("contains foreign data");
    case "boot": return _("boot drive");
    default: return _("content unknown");
    }
}

/** Actual, and what it could be where that is more. */
export function linkText(link: TopologyLink | null): string {
    if (link === null) return _("link unknown");
    return slower(link)
        ? format(_("PCIe link at $0 GT/s ×$1, capable of $2 GT/s ×$3"), link.gts, link.width, link.gts_most, link.width_most)
        : format(_("PCIe link at $0 GT/s ×$1, maximum"), link.gts, link.width);
}

export function portSpeed(port: TopologyPort): string {
    if (!port.link) return _("no link");
    return port.speed_mbit === null ? _("speed unknown") : `${number(port.speed_mbit / 1000, 1)} Gbit/s`;
}

export function rdmaText(port: TopologyPort): string {
    if (port.rdma === null) return _("no");
    return port.software_rdma ? format(_("$0 (software)"), port.rdma) : port.rdma;
}

export const temperature = (celsius: number | null): string => (celsius === null ? UNKNOWN : `${number(celsius)} °C`);
