// SPDX-License-Identifier: Apache-2.0
/** The network ports: link, speed and what passes them now and in the last hour. */
import type { JSX } from "react";
import type { HistoryReport, TopologyPort } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { Sparkline } from "../../components/Sparkline";
import { Loaded } from "../../components/States";
import { rate } from "../../lib/format";
import { seriesOf } from "../../lib/history";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { link } from "../../lib/route";
import type { Sample } from "../../lib/watch";
import { portSpeed } from "../server/words";
import { newest } from "./figures";

/** Ports that fit; the page of the server has all. */
const SHOWN = 4;
const EVERY = 30;

export function Network({ now, report }: { now: Sample | undefined; report: HistoryReport | undefined }): JSX.Element {
    const topology = useVerb("topology", [], { every: EVERY });
    return (
        <Panel title={_("Network")} testId="network" actions={<a href={link("server")}>{_("Server")}</a>}>
            <Loaded of={topology} what={_("Loading network ports")}>
                {({ nodes }) => {
                    const ports = nodes.flatMap((node) => node.ports).sort((a, b) => Number(b.link) - Number(a.link));
                    return (
                        <div className="mr-stack">
                            {ports.length === 0 && <p>{_("No network ports.")}</p>}
                            {ports.slice(0, SHOWN).map((port) => <Port key={port.name} port={port} now={now} report={report} />)}
                            {ports.length > SHOWN && <small>{format(_("and $0 more"), ports.length - SHOWN)}</small>}
                        </div>
                    );
                }}
            </Loaded>
        </Panel>
    );
}

function Port({ port, now, report }: { port: TopologyPort; now: Sample | undefined; report: HistoryReport | undefined }): JSX.Element {
    const live = now?.ports.find(({ name }) => name === port.name);
    const [received, sent] = [newest(seriesOf(report, "port-receive", port.name), live?.receive_bytes_per_second),
        newest(seriesOf(report, "port-send", port.name), live?.send_bytes_per_second)];
    return (
        <section aria-label={format(_("Port $0"), port.name)}>
            <dl className="mr-pairs">
                <div><dt>{port.name}</dt><dd>{portSpeed(port)}{port.rdma !== null && " · RDMA"}</dd></div>
                <div><dt>{_("Received, sent")}</dt><dd>{rate(received.now)}, {rate(sent.now)}</dd></div>
            </dl>
            {port.link && received.points.length > 1 && (
                <Sparkline slots={received.points.length} top={rate(Math.max(received.most ?? 0, sent.most ?? 0))}
                    label={format(_("Port $0 in the last hour: received $1 at most, sent $2 at most"), port.name, rate(received.most), rate(sent.most))}
                    series={[{ name: "received", points: received.points, tone: "read" }, { name: "sent", points: sent.points, tone: "write" }]} />
            )}
        </section>
    );
}
