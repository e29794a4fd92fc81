// SPDX-License-Identifier: Apache-2.0
import { useEffect, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { PageHeader } from "../../components/PageHeader";
import { ErrorAlert } from "../../components/States";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { link, useRoute } from "../../lib/route";
import { ClientsPanel } from "./ClientsPanel";
import { CompareView } from "./CompareView";
import { isEmulated } from "./figures";
import { HistoryPanel } from "./HistoryPanel";
import { isRunning, useFollow } from "./live";
import { LivePanel } from "./LivePanel";
import { MlperfPanel } from "./MlperfPanel";
import { RunView } from "./RunView";
import { StartPanel } from "./StartPanel";
import { stateWord } from "./words";

function Runs(): JSX.Element {
    const live = useFollow();
    const history = useVerb("bench list");
    const clients = useVerb("bench clients list");
    const { last, error, again } = live;
    const running = isRunning(live);
    const summary = history.data?.runs.find(({ id }) => id === last?.run);
    const { reload } = history;
    // A run that begins or ends is another line of the history.
    useEffect(() => { if (last) reload(); }, [last?.run, last?.state, reload]); // eslint-disable-line react-hooks/exhaustive-deps
    return (
        <>
            <PageHeader title={_("Benchmark")}>
                {_("Performance of each layer compared with the hardware limit, and the loss in each layer.")}
            </PageHeader>
            <ErrorAlert error={error} retry={again} />
            {last && !running && (
                <Alert isInline variant={last.state === "done" ? "success" : "warning"} data-testid="last-run"
                    title={format(_("Run $0: $1"), last.run, stateWord(last.state))}>
                    <p>{last.what}</p>
                    <a href={link("benchmark", "run", last.run)}>{_("Show the results")}</a>
                </Alert>
            )}
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

export default function Benchmark(): JSX.Element {
    const { path } = useRoute();
    if (path[1] === "run" && path[2] !== undefined) return <RunView key={path[2]} id={path[2]} />;
    if (path[1] === "compare" && path[2] !== undefined && path[3] !== undefined)
        return <CompareView key={path.join("/")} ids={[path[2], path[3]]} />;
    return <Runs />;
}
