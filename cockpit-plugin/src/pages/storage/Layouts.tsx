// SPDX-License-Identifier: Apache-2.0
/** The layouts that are possible, before one is approved: capacity, safety and speed of each. */
import type { JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { LayoutChoice, StreamLimit } from "../../types/millrace";
import { DataTable } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { bytes, rate } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { evidence, layerName } from "./Prediction";

const PERCENT = 100;

/** `shown` is the hash of the plan on the page; the choice of a layout shows its plan, which is approved like any other. */
export function Layouts({ shown, onShow }: { shown: string; onShow: (name: string | undefined) => void }): JSX.Element {
    const layouts = useVerb("plan --layouts", []);
    return (
        <Panel title={_("Layouts")} testId="layouts">
            <p className="mr-subtle">
                {_("To change the layout later, the pool is destroyed and built again. Each can grow in place on larger drives; RAID50 and RAID60 with a restart.")}
            </p>
            <Loaded of={layouts} what={_("Loading layouts")}>
                {({ choices }) => (
                    <DataTable label={_("Possible layouts")} rows={choices} rowKey={({ name }) => name} columns={[
                        { title: _("Layout"), cell: layout, heads: true },
                        { title: _("Usable capacity"), cell: ({ capacity }) => bytes(capacity), sort: ({ capacity }) => capacity, figures: true },
                        { title: _("Drives that may die"), cell: mayDie },
                        { title: _("Hot spares"), cell: ({ hot_spares }) => String(hot_spares), figures: true },
                        { title: _("Rebuild of a drive"), cell: rebuild },
                        { title: _("Read, at most"), cell: ({ read }) => stream(read) },
                        { title: _("Write, at most"), cell: ({ write }) => stream(write) },
                        {
                            title: _("Plan"), cell: (one) => (one.sha256 === shown
                                ? _("shown")
                                : (
                                    <Button variant="link" isInline aria-label={format(_("Show the plan of $0"), one.name)}
                                        onClick={() => onShow(one.proposed ? undefined : one.name)}>{_("Show")}</Button>
                                )),
                        },
                    ]} />
                )}
            </Loaded>
        </Panel>
    );
}

function layout({ name, proposed }: LayoutChoice): string {
    return proposed ? format(_("$0 (proposed)"), name) : name;
}

function mayDie({ may_fail, legs }: LayoutChoice): string {
    if (may_fail === 0) return _("none");
    return legs > 1 ? format(_("$0 of each of $1 legs"), may_fail, legs) : String(may_fail);
}

function rebuild({ rebuild_hours, unreadable }: LayoutChoice): string {
    if (rebuild_hours === null) return _("none");
    const hours = Math.max(1, Math.round(rebuild_hours));
    const takes = format(ngettext("$0 hour", "$0 hours", hours), hours);
    return unreadable === 0 ? takes : format(_("$0, unreadable sector: $1 %"), takes, (unreadable * PERCENT).toFixed(1));
}

function stream({ limit, bound_by, evidence: known }: StreamLimit): string {
    if (limit === null || bound_by === null || known === null) return _("unknown");
    return format(_("speed, layer and evidence", "$0 ($1, $2)"), rate(limit), layerName(bound_by), evidence(known));
}
