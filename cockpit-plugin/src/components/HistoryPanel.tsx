// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { FormSelect, FormSelectOption } from "@patternfly/react-core/dist/esm/components/FormSelect/index.js";
import type { HistoryReport } from "../types/millrace";
import { HistoryChart, type HistoryLine } from "../charts/HistoryChart";
import { spanWord, SPANS, useHistory, type Span } from "../lib/history";
import { _, format } from "../lib/i18n";
import { Panel } from "./Panel";
import { Loaded } from "./States";
import "./parts.css";

export interface HistoryFigure { title: string; lines: (report: HistoryReport) => HistoryLine[] }

/** Lines that can be told apart. */
const MOST = 7;

/** Charts of what the server kept, over a span that is chosen. */
export function HistoryPanel({ title, kinds, figures, first = "24h", below, testId }: {
    title: string; kinds: readonly string[]; figures: readonly HistoryFigure[]; first?: Span; testId: string;
    /** A sentence below the charts. */
    below?: (report: HistoryReport) => string | undefined;
}): JSX.Element {
    const [span, setSpan] = useState<Span>(first);
    const report = useHistory(kinds, span);
    return (
        <Panel title={title} wide testId={testId} actions={(
            <FormSelect aria-label={format(_("Span of $0"), title)} value={span} className="mr-span" onChange={(_event, chosen) => setSpan(chosen as Span)}>
                {SPANS.map((one) => <FormSelectOption key={one} value={one} label={spanWord(one)} />)}
            </FormSelect>
        )}>
            <Loaded of={report} what={_("Loading history")}>{(data) => <Drawn report={data} figures={figures} sentence={below?.(data)} />}</Loaded>
        </Panel>
    );
}

function Drawn({ report, figures, sentence }: {
    report: HistoryReport; figures: readonly HistoryFigure[]; sentence: string | undefined;
}): JSX.Element {
    const drawn = figures.map(({ title, lines }) => ({ title, lines: lines(report).filter(({ series }) => series.last !== null).slice(0, MOST) }))
        .filter(({ lines }) => lines.length > 0);
    return (
        <div className="mr-stack">
            {drawn.length === 0 && <p>{_("Nothing has been kept in this span yet. The server keeps a value every minute.")}</p>}
            <div className="mr-pair">
                {drawn.map(({ title, lines }) => <HistoryChart key={title} title={title} report={report} lines={lines} />)}
            </div>
            {sentence !== undefined && <p>{sentence}</p>}
            {report.notes.map((text) => <p key={text}><small className="mr-subtle">{text}</small></p>)}
        </div>
    );
}

/** The series of a kind, named by their share, client, port or drive. */
export function allOf(name: string, word = (of: string) => of): (report: HistoryReport) => HistoryLine[] {
    return ({ series }) => series.filter((one) => one.name === name).map((one) => ({ name: word(one.of), series: one }));
}

/** Series that there is one of each, by their kind. */
export function namedLines(names: Record<string, string>): (report: HistoryReport) => HistoryLine[] {
    return ({ series }) => Object.entries(names).flatMap(([kind, name]) => series.filter((one) => one.name === kind).map((one) => ({ name, series: one })));
}
