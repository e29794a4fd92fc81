// SPDX-License-Identifier: Apache-2.0
/** The plan that the pool was built from: what it is called, what it decided and why. */
import { useState, type JSX } from "react";
import { ExpandableSection } from "@patternfly/react-core/dist/esm/components/ExpandableSection/index.js";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { binary, bytes } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { Decisions } from "./Decisions";

export function PlanInForce(): JSX.Element {
    const found = useVerb("plan");
    const [open, setOpen] = useState(false);
    return (
        <Panel title={_("Plan in force")} wide testId="plan-in-force">
            <Loaded of={found} what={_("Loading plan")}>
                {({ proposal, sha256 }) => (proposal.verdict !== "ready" ? <p>{_("The plan of this pool is not known.")}</p> : (
                    <>
                        <p><strong>{proposal.title}</strong></p>
                        <dl className="mr-definitions">
                            <dt>{_("Usable capacity")}</dt><dd>{bytes(proposal.capacity)} ({binary(proposal.capacity)})</dd>
                            <dt>{_("Arrays")}</dt>
                            <dd>
                                {proposal.arrays.map((one) => (
                                    <div key={one.name}>
                                        {one.name}: {one.level.toUpperCase()}, {one.over_arrays
                                            ? format(_("over $0"), one.members.join(", "))
                                            : format(ngettext("$0 drive", "$0 drives", one.members.length), one.members.length)}
                                        {one.chunk !== null && `, ${format(_("chunk $0"), binary(one.chunk))}`}
                                        {one.spares.length > 0 && `, ${format(ngettext("$0 hot spare", "$0 hot spares", one.spares.length), one.spares.length)}`}
                                    </div>
                                ))}
                            </dd>
                            <dt>{_("File system")}</dt>
                            <dd>{proposal.filesystem.mountpoint}, XFS, {format(_("$0 allocation groups"), proposal.filesystem.allocation_groups)}</dd>
                            <dt>SHA-256</dt><dd className="mr-hash">{sha256}</dd>
                        </dl>
                        <ExpandableSection toggleText={_("All decisions with their reasons")} isExpanded={open} onToggle={(_event, now) => setOpen(now)}>
                            {open && <Decisions decisions={proposal.decisions} />}
                        </ExpandableSection>
                    </>
                ))}
            </Loaded>
        </Panel>
    );
}
