// SPDX-License-Identifier: Apache-2.0
/** What clients get right now, per protocol, from the kernel's counters, after what they got in the last hour. */
import type { JSX } from "react";
import { Panel } from "../../components/Panel";
import { Sparkline } from "../../components/Sparkline";
import { ErrorAlert, Loading } from "../../components/States";
import { latency, operations, rate, UNKNOWN } from "../../lib/format";
import { seriesOf } from "../../lib/history";
import { _, format } from "../../lib/i18n";
import { protocolName } from "../../lib/protocols";
import type { Live, Sample } from "../../lib/watch";
import type { HistoryReport } from "../../types/millrace";
import { newest, type Recent } from "./figures";

interface Row {
    id: string;
    title: string;
    read: Recent;
    write: Recent;
    latency: number | null;
    operations: number | null | undefined;
}

/** A series of the history is of all transports of a protocol. */
const kept = (name: string) => (name === "smb" ? "smb" : "nfs");

function rows(now: Sample, report: HistoryReport | undefined): Row[] {
    const recent = (name: string, what: "read" | "write", live: number | null) => newest(seriesOf(report, `${name}-${what}`), live);
    const protocols = now.protocols.map((one) => ({
        id: one.name,
        title: protocolName(one.name),
        read: recent(kept(one.name), "read", one.read_bytes_per_second),
        write: recent(kept(one.name), "write", one.write_bytes_per_second),
        latency: one.latency_seconds,
        operations: one.operations_per_second,
    }));
    const { drives } = now;
    return [...protocols, {
        id: "drives",
        title: _("All drives of the pool"),
        read: recent("drives", "read", drives.read_bytes_per_second),
        write: recent("drives", "write", drives.write_bytes_per_second),
        latency: drives.latency_seconds,
        operations: undefined,
    }];
}

export function Throughput({ live, report }: { live: Live; report: HistoryReport | undefined }): JSX.Element {
    const { samples, error } = live;
    const now = samples.at(-1);
    return (
        <Panel title={_("Throughput and latency")} wide testId="throughput">
            <ErrorAlert error={error} />
            {now === undefined && error === undefined && <Loading what={_("Waiting for data")} />}
            {now !== undefined && <div className="mr-rates">{rows(now, report).map((row) => <Rates key={row.id} row={row} />)}</div>}
            {now?.notes.map((text) => <p key={text}><small className="mr-subtle">{text}</small></p>)}
        </Panel>
    );
}

function Rates({ row }: { row: Row }): JSX.Element {
    const label = format(_("$0 in the last hour: read $1 now, $2 peak; write $3 now, $4 peak"), row.title,
        rate(row.read.now), rate(row.read.most), rate(row.write.now), rate(row.write.most));
    return (
        <section className="mr-rate" aria-label={row.title} data-testid={`rate-${row.id}`}>
            <h3>{row.title}</h3>
            <Sparkline slots={Math.max(row.read.points.length, row.write.points.length, 2)} label={label}
                top={rate(Math.max(...[...row.read.points, ...row.write.points].map((value) => value ?? 0)))} series={[
                    { name: "read", points: row.read.points, tone: "read" },
                    { name: "write", points: row.write.points, tone: "write" },
                ]} />
            <dl className="mr-rate-figures">
                <div><dt><span className="mr-key mr-key-read" aria-hidden="true" />{_("Read")}</dt><dd>{rate(row.read.now)}</dd></div>
                <div><dt><span className="mr-key mr-key-write" aria-hidden="true" />{_("Write")}</dt><dd>{rate(row.write.now)}</dd></div>
                <div><dt>{_("Latency")}</dt><dd>{row.operations === 0 ? UNKNOWN : latency(row.latency)}</dd></div>
                {row.operations !== undefined && <div><dt>{_("Operations")}</dt><dd>{operations(row.operations)}</dd></div>}
            </dl>
        </section>
    );
}
