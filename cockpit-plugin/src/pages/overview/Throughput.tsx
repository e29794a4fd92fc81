// SPDX-License-Identifier: Apache-2.0
/** What clients get right now, per protocol, from the kernel's counters. */
import type { JSX } from "react";
import { Panel } from "../../components/Panel";
import { Sparkline, type Point } from "../../components/Sparkline";
import { ErrorAlert, Loading } from "../../components/States";
import { latency, operations, rate } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { protocolName } from "../../lib/protocols";
import { SHOWN, type Live, type Sample } from "../../lib/watch";

interface Row {
    id: string;
    title: string;
    read: Point[];
    write: Point[];
    latency: number | null;
    operations: number | null | undefined;
}

function protocolRows(samples: Sample[]): Row[] {
    const names = samples.at(-1)?.protocols.map((one) => one.name) ?? [];
    return names.map((name) => {
        const series = samples.map((sample) => sample.protocols.find((one) => one.name === name));
        const now = series.at(-1);
        return {
            id: name,
            title: protocolName(name),
            read: series.map((one) => one?.read_bytes_per_second ?? null),
            write: series.map((one) => one?.write_bytes_per_second ?? null),
            latency: now?.latency_seconds ?? null,
            operations: now?.operations_per_second ?? null,
        };
    });
}

function driveRow(samples: Sample[]): Row {
    return {
        id: "drives",
        title: _("All drives of the pool"),
        read: samples.map((one) => one.drives.read_bytes_per_second),
        write: samples.map((one) => one.drives.write_bytes_per_second),
        latency: samples.at(-1)?.drives.latency_seconds ?? null,
        operations: undefined,
    };
}

const known = (points: Point[]) => points.filter((value): value is number => value !== null);
const most = (points: Point[]) => (known(points).length ? Math.max(...known(points)) : null);
const now = (points: Point[]) => points.at(-1) ?? null;

export function Throughput({ live }: { live: Live }): JSX.Element {
    const { samples, error } = live;
    return (
        <Panel title={_("Throughput and latency")} wide testId="throughput">
            <ErrorAlert error={error} />
            {samples.length === 0 && error === undefined && <Loading what={_("Waiting for data")} />}
            {samples.length > 0 && (
                <div className="mr-rates">
                    {[...protocolRows(samples), driveRow(samples)].map((row) => <Rates key={row.id} row={row} />)}
                </div>
            )}
            {samples.at(-1)?.notes.map((text) => <p key={text}><small className="mr-subtle">{text}</small></p>)}
        </Panel>
    );
}

function Rates({ row }: { row: Row }): JSX.Element {
    const label = format(_("$0 in the last minute: read $1 now, $2 peak; write $3 now, $4 peak"), row.title,
        rate(now(row.read)), rate(most(row.read)), rate(now(row.write)), rate(most(row.write)));
    return (
        <section className="mr-rate" aria-label={row.title} data-testid={`rate-${row.id}`}>
            <h3>{row.title}</h3>
            <Sparkline slots={SHOWN} label={label} series={[
                { name: "read", points: row.read, tone: "read" },
                { name: "write", points: row.write, tone: "write" },
            ]} />
            <dl className="mr-rate-figures">
                <div><dt><span className="mr-key mr-key-read" aria-hidden="true" />{_("Read")}</dt><dd>{rate(now(row.read))}</dd></div>
                <div><dt><span className="mr-key mr-key-write" aria-hidden="true" />{_("Write")}</dt><dd>{rate(now(row.write))}</dd></div>
                <div><dt>{_("Latency")}</dt><dd>{latency(row.latency)}</dd></div>
                {row.operations !== undefined && <div><dt>{_("Operations")}</dt><dd>{operations(row.operations)}</dd></div>}
            </dl>
        </section>
    );
}
