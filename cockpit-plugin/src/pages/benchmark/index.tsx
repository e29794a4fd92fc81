// SPDX-License-Identifier: Apache-2.0
import { useEffect, type JSX, type ReactNode } from "react";
import { PageHeader } from "../../components/PageHeader";
import { ErrorAlert } from "../../components/States";
import { Tabs } from "../../components/Tabs";
import { useVerb } from "../../lib/hooks";
import { _ } from "../../lib/i18n";
import { useJob } from "../../lib/jobs";
import { link, useRoute } from "../../lib/route";
import { ClientsPanel } from "./ClientsPanel";
import { CompareView } from "./CompareView";
import { isEmulated } from "./figures";
import { HistoryPanel } from "./HistoryPanel";
import { isRunning, useFollow } from "./live";
import { LastRun } from "./LastRun";
import { LivePanel } from "./LivePanel";
import { MlperfPanel } from "./MlperfPanel";
import { RunView } from "./RunView";
import { StartPanel } from "./StartPanel";
import { Tune } from "./Tune";

function Runs(): JSX.Element {
    const live = useFollow();
    const history = useVerb("bench list");
    const clients = useVerb("bench clients list");
    const { last, error, again } = live;
    const running = isRunning(live);
    const begun = useJob("benchmark").now !== undefined;
    // Begun elsewhere: what this page follows has ended, or there was none.
    useEffect(() => { if (begun && !running) again(); }, [begun, again]); // eslint-disable-line react-hooks/exhaustive-deps
    const summary = history.data?.runs.find(({ id }) => id === last?.run);
    const { reload } = history;
    // A run that begins or ends is another line of the history.
    useEffect(() => { if (last) reload(); }, [last?.run, last?.state, reload]); // eslint-disable-line react-hooks/exhaustive-deps
    return (
        <>
            <ErrorAlert error={error} retry={again} />
            {last && !running && <LastRun last={last} path={["benchmark", "run", last.run]} />}
            <div className="mr-pair">
                {/* Whose figures these are is known from the list only: until then none are shown. */}
                {last && running && <LivePanel live={live} last={last} figures={summary !== undefined && !isEmulated(summary.labels)} onStopped={again} />}
                <StartPanel clients={clients.data?.clients ?? []} busy={running} onStarted={again} />
                <HistoryPanel of={history} />
                <ClientsPanel of={clients} />
                <MlperfPanel />
            </div>
        </>
    );
}

function Tabbed({ current, children }: { current: "" | "tune"; children: ReactNode }): JSX.Element {
    return (
        <>
            <PageHeader title={_("Benchmark")}>
                {_("Performance of each layer compared with the hardware limit, and the loss in each layer.")}
            </PageHeader>
            <Tabs label={_("Benchmark")} current={current} tabs={[
                { id: "", title: _("Measure"), href: link("benchmark") },
                { id: "tune", title: _("Tune"), href: link("benchmark", "tune") },
            ]} />
            {children}
        </>
    );
}

export default function Benchmark(): JSX.Element {
    const { path } = useRoute();
    if (path[1] === "run" && path[2] !== undefined) return <RunView key={path[2]} id={path[2]} />;
    if (path[1] === "compare" && path[2] !== undefined && path[3] !== undefined)
        return <CompareView key={path.join("/")} ids={[path[2], path[3]]} />;
    if (path[1] === "tune") return <Tabbed current="tune"><Tune id={path[2]} /></Tabbed>;
    return <Tabbed current=""><Runs /></Tabbed>;
}
