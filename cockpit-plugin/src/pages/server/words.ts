// SPDX-License-Identifier: Apache-2.0
import type { Link, TopologyDrive, TopologyPort } from "../../types/millrace";
import { number, UNKNOWN } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { slower } from "./model";

export function driveState(drive: TopologyDrive): string {
    if (!drive.present) return _("gone");
    switch (drive.member) {
    case "in-sync": return _("in sync");
    case "rebuilding": return _("rebuilding");
    case "spare": return _("hot spare");
    case "faulty": return _("faulty");
    case "missing": return _("missing");
    case "unknown": return _("state not known");
    default:
    }
    switch (drive.state) {
    case "blank": return _("blank");
    case "ours": return _("of a Millrace pool");
    case "foreign": return _("holds somebody's data");
    case "boot": return _("boot drive");
    default: return _("content not known");
    }
}

/** Actual, and what it could be where that is more. */
export function linkText(link: Link | null): string {
    if (link === null) return _("link not known");
    return slower(link)
        ? format(_("PCIe link at $0 GT/s ×$1, could be $2 GT/s ×$3"), link.gts, link.width, link.gts_most, link.width_most)
        : format(_("PCIe link at $0 GT/s ×$1, as fast as it can be"), link.gts, link.width);
}

export function portSpeed(port: TopologyPort): string {
    if (!port.link) return _("no link");
    return port.speed_mbit === null ? _("speed not known") : `${number(port.speed_mbit / 1000, 1)} Gbit/s`;
}

export function rdmaText(port: TopologyPort): string {
    if (port.rdma === null) return _("no");
    return port.software_rdma ? format(_("$0, made of software"), port.rdma) : port.rdma;
}

export const temperature = (celsius: number | null): string => (celsius === null ? UNKNOWN : `${number(celsius)} °C`);
