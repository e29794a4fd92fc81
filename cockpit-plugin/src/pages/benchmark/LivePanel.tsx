// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { LineChart, type Line } from "../../charts/LineChart";
import { Figure } from "../../charts/Figure";
import { DataTable } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { ProgressEta } from "../../components/ProgressEta";
import { clock } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { ConfirmButton } from "./ConfirmButton";
import { rungName, rungText, workloadWord } from "./figures";
import { SHOWN, type Live } from "./live";
import { StateLabel } from "./StateLabel";
import { inUnit } from "./words";

function Chart({ points, of, figures }: { points: Live["points"]; of: "bandwidth" | "operations"; figures: boolean }): JSX.Element {
    const text = (value: number | null) => inUnit(value, of === "bandwidth" ? "bytes/s" : "operations/s");
    const title = of === "bandwidth" ? _("Bandwidth") : _("Operations");
    const now = points.at(-1)?.time ?? 0;
    const line: Line = { name: title, tone: of === "bandwidth" ? 0 : 1, points: points.map((point) => ({ x: point.time - now, y: point[of] })) };
    const last = points.at(-1)?.[of] ?? null;
    const label = figures ? format(_("$0 of the last five minutes, now $1"), title, text(last)) : format(_("$0 of the last five minutes"), title);
    return (
        <Figure title={figures ? `${title}: ${text(last)}` : title}
            chart={<LineChart label={label} lines={[line]} xFrom={-SHOWN} xTo={0} yText={figures ? text : undefined}
                xTicks={[{ at: -300, text: _("5 min ago") }, { at: -150, text: _("2½ min ago") }, { at: 0, text: _("now") }]} />}
            table={figures
                ? <DataTable label={title} rows={points.slice(-20)} rowKey={({ time }) => String(time)} columns={[
                    { title: _("Time"), heads: true, cell: ({ time }) => clock(new Date(time * 1000)) },
                    { title, figures: true, cell: (point) => text(point[of]) },
                ]} />
                : <p>{_("Results of an emulated server are not meaningful and not shown.")}</p>} />
    );
}

function Finished({ live, figures }: { live: Live; figures: boolean }): JSX.Element | null {
    if (live.finished.length === 0) return null;
    return (
        <DataTable label={_("Finished loads")} testId="phases" rows={[...live.finished].reverse()} rowKey={({ id }) => id} columns={[
            { title: _("Target"), heads: true, cell: rungName },
            { title: _("Load"), cell: workloadWord },
            { title: _("State"), cell: ({ state }) => <StateLabel state={state} /> },
            { title: _("Result"), cell: (rung) => (rung.reason ?? rungText(rung, !figures)) },
        ]} />
    );
}

/** The run that is on: how far, how fast, what is done, and the way to stop it. */
export function LivePanel({ live, last, figures, onStopped }: {
    live: Live; last: NonNullable<Live["last"]>;
    /** Figures are those of real hardware. */
    figures: boolean;
    onStopped: () => void;
}): JSX.Element {
    const step = format(_("load $0 of $1"), last.step, last.steps);
    const repeat = last.repeat !== null && last.repeats !== null ? format(_("repeat $0 of $1"), last.repeat, last.repeats) : "";
    return (
        <Panel title={format(_("Run $0"), last.run)} wide testId="live" actions={(
            <ConfirmButton verb="job cancel" args={["benchmark"]} label={_("Stop")} title={_("Stop this run?")} action={_("Stop the run")} danger onDone={onStopped}>
                <p>{_("Results so far are kept and labelled as stopped; test files are removed.")}</p>
            </ConfirmButton>
        )}>
            <div className="mr-stack">
                <ProgressEta title={last.what} progress={last.progress} secondsLeft={last.seconds_left} detail={[step, repeat].filter(Boolean).join(", ")} />
                <div className="mr-fields">
                    <Chart points={live.points} of="bandwidth" figures={figures} />
                    <Chart points={live.points} of="operations" figures={figures} />
                </div>
                <Finished live={live} figures={figures} />
                <p className="mr-subtle">{_("The run continues when this page is closed.")}</p>
            </div>
        </Panel>
    );
}
