// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { MdArray, Plan } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { binary } from "../../lib/format";
import { _, format, ngettext } from "../../lib/i18n";
import { tones } from "../../lib/tones";

const leaves = (arrays: MdArray[]): MdArray[] => arrays.filter((one) => !one.over_arrays);

export function PlannedArrays({ plan }: { plan: Plan }): JSX.Element {
    const colours = tones(leaves(plan.arrays).map(({ name }) => name));
    const { filesystem } = plan;
    return (
        <Panel title={plan.backend === "md" ? _("Arrays to be built") : _("File system to be built")} testId="built">
            <ul className="mr-arrays">
                {plan.arrays.map((one) => (
                    <li key={one.name} className={`mr-tone-${colours.get(one.name) ?? "port"}`}>
                        <strong>{one.name}</strong> {one.level.toUpperCase()} · {members(one)}
                        {one.chunk !== null && ` · ${format(_("chunk $0"), binary(one.chunk))}`}
                        {one.spares.length > 0 && ` · ${format(ngettext("$0 hot spare", "$0 hot spares", one.spares.length), one.spares.length)}`}
                        {!one.over_arrays && <div className="mr-serials">{[...one.members, ...one.spares].join(" ")}</div>}
                    </li>
                ))}
                <li className="mr-tone-port">
                    <strong>XFS</strong> {filesystem.mountpoint} · {format(_("$0 allocation groups"), filesystem.allocation_groups)}
                    {filesystem.log_size !== null && ` · ${format(filesystem.log_device === null ? _("log of $0 inside") : _("log of $0 on its own device"), binary(filesystem.log_size))}`}
                    {plan.backend === "external" && <div className="mr-serials">{filesystem.device} {filesystem.log_device}</div>}
                    <div className="mr-serials">{filesystem.mount_options.join(",")}</div>
                </li>
            </ul>
        </Panel>
    );
}

function members(array: MdArray): string {
    const many = array.members.length;
    return array.over_arrays ? format(_("over $0"), array.members.join(", ")) : format(ngettext("$0 drive", "$0 drives", many), many);
}
