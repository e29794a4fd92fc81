// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { Fed } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { day, rate } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { link } from "../../lib/route";
import { bindingWord } from "../benchmark/words";

function basis({ basis: from, at }: Fed): string {
    const when = at === null ? "" : day(at);
    switch (from) {
    case "clients": return format(_("Measured by clients on $0."), when);
    case "server": return format(_("Measured on this server on $0."), when);
    case "predicted": return _("Predicted from the hardware, not measured yet.");
    }
}

/** How many accelerators the server keeps busy, from where that is known, and what limits it. */
export function FedAccelerators({ fed }: { fed: Fed }): JSX.Element {
    const counts = fed.counts.map(({ accelerator, count }) => `${count} ${accelerator}`).join(` ${_("or")} `);
    return (
        <Panel title={_("Feeds")} testId="feeds" actions={<a href={link("benchmark")}>{_("Benchmark")}</a>}>
            <p className="mr-figure">{counts}</p>
            <p>{format(_("Accelerators kept busy by 3D-U-Net, $0 of reads."), rate(fed.bandwidth))}</p>
            <p>
                {basis(fed)}{" "}
                {fed.bound_by !== null && format(_("Bottleneck: $0."), bindingWord(fed.bound_by))}{" "}
                {fed.degraded && _("An array is degraded.")}
            </p>
        </Panel>
    );
}
