// SPDX-License-Identifier: Apache-2.0
/** Is it well, what is to be done, how full, how fast, who is there. */
import { useEffect, useState, type JSX } from "react";
import type { Outputs } from "../../types/outputs";
import { NfsClosed } from "../../components/NfsClosed";
import { PageHeader } from "../../components/PageHeader";
import { Loaded } from "../../components/States";
import { format, _ } from "../../lib/i18n";
import { levelOf, useStatus } from "../../lib/status";
import { useLive } from "../../lib/watch";
import { Bell, OpenAlerts, useAlerts } from "./Alerts";
import { Capacity } from "./Capacity";
import { ClientsPanel } from "./ClientsPanel";
import { Drives } from "./Drives";
import { Feeds } from "./Feeds";
import { HealthVerdict } from "./HealthVerdict";
import { Jobs } from "./Jobs";
import { System } from "./System";
import { Throughput } from "./Throughput";
import "./overview.css";

type Status = Outputs["status"];

export default function Overview(): JSX.Element {
    const status = useStatus();
    const live = useLive();
    const alerts = useAlerts();
    const [listed, setListed] = useState(false);
    const now = live.samples.at(-1);
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
            <Loaded of={status} what={_("Loading server status")}>
                {(data) => (
                    <>
                        {data.pool !== null && <Drives />}
                        <HealthVerdict health={data.health} level={levelOf(status)} hasPool={data.pool !== null} />
                        <NfsClosed />
                        <div className="mr-cards">
                            <Throughput live={live} />
                            {data.fed && <Feeds fed={data.fed} />}
                            <Capacity pool={data.pool !== null} space={data.space} />
                            <Jobs jobs={now?.jobs ?? data.jobs} onCancelled={reload} />
                            <ClientsPanel now={now} />
                            <System status={data} />
                        </div>
                    </>
                )}
            </Loaded>
        </>
    );
}

function subtitle(status: Status): string {
    return format(_("$0 is a $1 $2 server"), status.hostname, status.product, status.version);
}
