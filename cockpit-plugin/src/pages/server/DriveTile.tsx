// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { TopologyDrive, TopologyFinding } from "../../types/millrace";
import { bytes } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { NO_TONE } from "../../lib/tones";
import { groupOf, slower } from "./model";
import { Tile, worstOf } from "./Tile";
import { driveState, linkText } from "./words";

export function DriveTile({ drive, colours, findings, chosen, choose }: {
    drive: TopologyDrive; colours: Map<string, number>; findings: TopologyFinding[]; chosen: boolean; choose: () => void;
}): JSX.Element {
    const group = groupOf(drive);
    const tone = group === null ? NO_TONE : colours.get(group) ?? NO_TONE;
    const place = drive.bay === null ? drive.name : format(_("Bay $0"), drive.bay);
    const label = [
        place,
        bytes(drive.size_bytes),
        group === null ? _("not in an array") : format(_("in $0"), group),
        driveState(drive),
        linkText(drive.link),
        ...findings.map(({ what }) => what),
    ].join(", ");
    const bad = !drive.present || drive.member === "faulty" || drive.member === "missing";
    return (
        <Tile kind="drive" label={label} tone={tone} chosen={chosen} choose={choose} gone={bad} worst={bad ? "fail" : worstOf(findings)}
            testId={`drive-${drive.serial || drive.name}`}>
            <strong>{place}</strong>
            <span>{bad ? driveState(drive) : bytes(drive.size_bytes)}</span>
            <small className={slower(drive.link) ? "mr-slow" : ""}>{drive.link ? `${drive.link.gts} GT/s ×${drive.link.width}` : "\u00a0"}</small>
            {drive.member === "rebuilding" && <small>{_("rebuilding")}</small>}
        </Tile>
    );
}
