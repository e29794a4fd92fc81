// SPDX-License-Identifier: Apache-2.0
/** Is it well, what is to be done, how full, how fast, who is there. */
import { useEffect, useState, type JSX } from "react";
import type { Outputs } from "../../types/outputs";
import { NfsClosed } from "../../components/NfsClosed";
import { HistoryPanel, namedLines, type HistoryFigure } from "../../components/HistoryPanel";
import { PageHeader } from "../../components/PageHeader";
import { Loaded } from "../../components/States";
import { useHistory } from "../../lib/history";
import { useVerb, type Result } from "../../lib/hooks";
import { format, _ } from "../../lib/i18n";
import { levelOf, useStatus } from "../../lib/status";
import { useLive, type Sample } from "../../lib/watch";
import { DriveAttention } from "../storage/DriveAttention";
import { Bell, OpenAlerts, useAlerts } from "./Alerts";
import { Bays } from "./Bays";
import { Capacity } from "./Capacity";
import { ClientsPanel } from "./ClientsPanel";
import { FedAccelerators } from "./FedAccelerators";
import { HealthVerdict } from "./HealthVerdict";
import { Jobs } from "./Jobs";
import { Load } from "./Load";
import { Network } from "./Network";
import { Shares } from "./Shares";
import { System } from "./System";
import { Throughput } from "./Throughput";
import "./overview.css";

type Status = Outputs["status"];

/** Seconds, as on the page of drives. */
const DRIVES_EVERY = 15;
/** Kinds of which a card shows the last hour. */
const HOUR = ["nfs", "smb", "drives", "port", "client", "cpu", "memory", "pool"];

export default function Overview(): JSX.Element {
    const status = useStatus();
    const live = useLive();
    const alerts = useAlerts();
    const [listed, setListed] = useState(false);
    const now = live.samples.at(-1);
    const rows = useVerb("drive list", [], { every: DRIVES_EVERY }).data?.drives ?? [];
    const { data: hour } = useHistory(HOUR, "1h");
    const { reload } = status;
    const [seen, told] = [now?.health, status.data?.health.level];
    // The live figures come every second and the status every five: what got worse is shown at once.
    useEffect(() => { if (seen !== undefined && told !== undefined && seen !== told) reload(); }, [seen, told, reload]);
    return (
        <>
            <PageHeader title={_("Overview")} actions={<Bell list={alerts.data} open={listed} onToggle={() => setListed(!listed)} />}>
                {status.data && subtitle(status.data)}
            </PageHeader>
            {listed && <OpenAlerts found={alerts} />}
            {status.data?.pool && <DriveAttention rows={rows} />}
            <Told status={status} />
            {status.data && <NfsClosed />}
            <div className="mr-cards">
                <Throughput live={live} report={hour} />
                {status.data && <OfStatus data={status.data} now={now} forecast={hour?.forecast?.sentence} reload={reload} />}
                <ClientsPanel now={now} report={hour} />
                <Network now={now} report={hour} />
                <Load report={hour} />
            </div>
            <Bays rows={rows} />
            <HistoryPanel title={_("History")} testId="history" kinds={["nfs", "smb", "drives-latency", "cpu", "memory"]} figures={figures()} />
        </>
    );
}

/** What is known of the server; where it does not answer, why, and the rest of the page stays. */
function Told({ status }: { status: Result<Status> }): JSX.Element {
    return (
        <Loaded of={status} what={_("Loading server status")}>
            {(data) => <HealthVerdict health={data.health} level={levelOf(status)} hasPool={data.pool !== null} />}
        </Loaded>
    );
}

function OfStatus({ data, now, forecast, reload }: {
    data: Status; now: Sample | undefined; forecast: string | undefined; reload: () => void;
}): JSX.Element {
    return (
        <>
            {data.fed && <FedAccelerators fed={data.fed} />}
            <Capacity pool={data.pool !== null} space={data.space} forecast={forecast} />
            <Jobs jobs={now?.jobs ?? data.jobs} onCancelled={reload} />
            {data.pool !== null && <Shares />}
            <System status={data} />
        </>
    );
}

function figures(): HistoryFigure[] {
    const of = (read: string, write: string) => ({ [read]: _("Read"), [write]: _("Write") });
    return [
        { title: _("NFS"), lines: namedLines(of("nfs-read", "nfs-write")) },
        { title: _("SMB"), lines: namedLines(of("smb-read", "smb-write")) },
        { title: _("Operations"), lines: namedLines({ "nfs-operations": _("NFS"), "smb-operations": _("SMB") }) },
        { title: _("Latency"), lines: namedLines({ "nfs-latency": _("NFS"), "smb-latency": _("SMB"), "drives-latency": _("All drives of the pool") }) },
        { title: _("CPU and memory"), lines: namedLines({ cpu: _("CPU"), memory: _("Memory") }) },
    ];
}

function subtitle(status: Status): string {
    return format(_("$0 is a $1 $2 server"), status.hostname, status.product, status.version);
}
