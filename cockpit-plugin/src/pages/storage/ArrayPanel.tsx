// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { LiveArray, Member } from "../../types/millrace";
import { HealthLabel } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { ProgressEta } from "../../components/ProgressEta";
import { binary, bytes, rate } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { jobTitle } from "../../lib/jobs";
import { arrayLevel, arrayWord, lastCheck, memberLevel, memberWord, mayFail } from "./words";

export function ArrayPanel({ array, tone }: { array: LiveArray; tone: number | "port" }): JSX.Element {
    const { sync } = array;
    return (
        <div className={`mr-array mr-tone-${tone}`}>
            <Panel title={format(_("Array $0"), array.name)} testId={`array-${array.name}`}
                actions={<HealthLabel level={arrayLevel(array)}>{arrayWord(array)}</HealthLabel>}>
                <p>
                    {array.level.toUpperCase()} · {array.role === "log" ? _("file system log") : _("data")} · {bytes(array.size)}
                    {array.chunk !== null && ` · ${format(_("chunk $0"), binary(array.chunk))}`}
                    {array.legs.length > 0 && ` · ${format(_("over $0"), array.legs.join(", "))}`}
                </p>
                <p>{mayFail(array)}</p>
                {sync && (
                    <ProgressEta title={jobTitle(sync.action)} progress={sync.progress} secondsLeft={sync.seconds_left}
                        detail={sync.bytes_per_second === null ? _("waiting for another array") : rate(sync.bytes_per_second)} />
                )}
                {array.level !== "raid0" && <p>{lastCheck(array)}</p>}
                {array.legs.length === 0 && <Members array={array} />}
            </Panel>
        </div>
    );
}

/** A new drive stands beside the one whose bay it has taken. */
function byBay(members: readonly Member[]): Member[] {
    return [...members].sort((a, b) => (a.bay ?? "~").localeCompare(b.bay ?? "~", undefined, { numeric: true }));
}

function Members({ array }: { array: LiveArray }): JSX.Element {
    return (
        <ul className="mr-members" aria-label={format(_("Drives of array $0"), array.name)}>
            {byBay(array.members).map((one) => <MemberTile key={`${one.serial} ${one.label}`} member={one} />)}
        </ul>
    );
}

function MemberTile({ member }: { member: Member }): JSX.Element {
    const level = memberLevel(member);
    return (
        <li className={`mr-member${level === "FAIL" ? " mr-gone" : ""}`} data-serial={member.serial} data-state={member.state} title={member.label}>
            <strong>{member.bay === null ? _("Unknown bay") : format(_("Bay $0"), member.bay)}</strong>
            <HealthLabel level={level}>{memberWord(member)}</HealthLabel>
            <small className="mr-subtle">{member.serial}{member.errors ? ` · ${format(_("$0 errors corrected"), member.errors)}` : ""}</small>
        </li>
    );
}
