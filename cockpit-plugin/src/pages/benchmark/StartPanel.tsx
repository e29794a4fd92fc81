// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX, type ReactNode } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Radio } from "@patternfly/react-core/dist/esm/components/Radio/index.js";
import type { BenchClient, BenchEstimate } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { Panel } from "../../components/Panel";
import { Empty, ErrorAlert, Loaded } from "../../components/States";
import { binary, duration, number } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { useAdmin } from "../../lib/permission";
import { link } from "../../lib/route";
import { useStatus } from "../../lib/status";
import { presets } from "./presets";
import { layerWord } from "./words";

/** Seconds until the first word of a run that was started: the server is looked at before. */
export const START_SECONDS = 180;

function Planned({ estimate }: { estimate: BenchEstimate }): JSX.Element {
    const wanted = estimate.rungs.filter(({ skipped }) => skipped === null);
    const layers = [...new Set(wanted.map(({ layer }) => layer))];
    const left = [...new Set(estimate.rungs.flatMap(({ target, skipped }) => (skipped === null ? [] : [`${target}: ${skipped}`])))];
    const count = (n: number) => format(ngettext("$0 load", "$0 loads", n), number(n));
    return (
        <div className="mr-stack" data-testid="estimate">
            <dl className="mr-definitions">
                <dt>{_("Estimated duration")}</dt><dd>{duration(estimate.seconds)}</dd>
                <dt>{_("Maximum size of test files")}</dt><dd>{binary(estimate.space)}</dd>
                <dt>{_("Estimated writes")}</dt><dd>{binary(estimate.written)}</dd>
                <dt>{_("Layers")}</dt>
                <dd>{layers.map((layer) => `${layerWord(layer)} (${count(wanted.filter((one) => one.layer === layer).length)})`).join(", ")}</dd>
                <dt>{_("Repeats")}</dt>
                <dd>{format(_("$0 × $1 s"), number(estimate.repeats), number(estimate.repeat_seconds, 1))}</dd>
            </dl>
            <p>{_("The run writes its own test files to the pool and removes them afterwards. Existing files are not changed, and drives are only read.")}</p>
            {left.length > 0 && (
                <details className="mr-details">
                    <summary>{_("Skipped, with reason")}</summary>
                    <ul>{left.map((line) => <li key={line}>{line}</li>)}</ul>
                </details>
            )}
            <Obstacles of={estimate.obstacles} />
        </div>
    );
}

/** What prevents a start, in the program's sentences. */
export function Obstacles({ of }: { of: string[] }): JSX.Element {
    return <>{of.map((line) => <Alert key={line} variant="warning" isInline title={line} data-testid="obstacle" />)}</>;
}

interface Ends { clients: BenchClient[]; busy: boolean; onStarted: () => void }

/** Without a pool there is nothing to measure, and that is no fault. */
export function NewRun({ testId, children }: { testId: string; children: ReactNode }): JSX.Element {
    const noPool = useStatus().data?.pool === null;
    return (
        <Panel title={_("New run")} wide testId={testId}>
            {noPool
                ? (
                    <Empty title={_("No pool yet")} actions={<a href={link("storage")}>{_("Go to the plan")}</a>}>
                        {_("A run measures the pool and its file services. Approve the plan first.")}
                    </Empty>
                )
                : children}
        </Panel>
    );
}

/** Clients that a run may drive. */
export function Drive({ clients, about, driven, onChange }: {
    clients: BenchClient[]; about: string; driven: string[]; onChange: (driven: string[]) => void;
}): JSX.Element | null {
    if (clients.length === 0) return null;
    return (
        <div className="mr-fields" role="group" aria-label={_("Benchmark clients")}>
            {clients.map(({ name }) => (
                <Checkbox key={name} id={`drive-${name}`} isChecked={driven.includes(name)}
                    onChange={(_event, on) => onChange(on ? [...driven, name] : driven.filter((one) => one !== name))}
                    label={format(_("Include client $0"), name)} description={about} />
            ))}
        </div>
    );
}

export function StartPanel(ends: Ends): JSX.Element {
    return <NewRun testId="start"><Choose {...ends} /></NewRun>;
}

/** Pick a run, see what it would do, start it. */
function Choose({ clients, busy, onStarted }: Ends): JSX.Element {
    const all = presets();
    const admin = useAdmin();
    const [chosen, setChosen] = useState(all[0]?.id);
    const [degraded, setDegraded] = useState(false);
    const [withClients, setWithClients] = useState(false);
    const [driven, setDriven] = useState<string[]>([]);
    const words = [
        ...(all.find(({ id }) => id === chosen)?.words ?? []),
        ...(degraded ? ["--degraded"] : []),
        ...(withClients ? ["--with-clients"] : []),
        // one that was forgotten meanwhile is not asked for
        ...clients.filter(({ name }) => driven.includes(name)).map(({ name }) => `--client=${name}`),
    ];
    const estimate = useVerb("bench estimate", words, { admin: admin === true, when: admin !== null, timeout: START_SECONDS });
    const start = useChange("bench start", { timeout: START_SECONDS });
    const begin = async () => { if (await start.go(words) !== undefined) onStarted(); };
    const inTheWay = (estimate.data?.obstacles.length ?? 0) > 0;
    return (
        <div className="mr-stack">
            <div className="mr-presets" role="radiogroup" aria-label={_("Benchmark profile")}>
                {all.map(({ id, title, about }) => (
                    <div key={id} className={`mr-preset${id === chosen ? " mr-preset-chosen" : ""}`}>
                        <Radio id={`preset-${id}`} name="preset" label={title} description={about} isChecked={id === chosen}
                            onChange={() => setChosen(id)} />
                    </div>
                ))}
            </div>
            <Loaded of={estimate} what={_("Calculating estimate")}>{(found) => <Planned estimate={found} />}</Loaded>
            <Drive clients={clients} about={_("Top layer: throughput of a client over the network.")} driven={driven} onChange={setDriven} />
            <div className="mr-fields">
                <Checkbox id="with-clients" isChecked={withClients} onChange={(_event, checked) => setWithClients(checked)}
                    label={_("Allow while clients are connected")} description={_("Clients become slower, and results are labelled.")} />
                <Checkbox id="degraded" isChecked={degraded} onChange={(_event, checked) => setDegraded(checked)}
                    label={_("Allow on a degraded or resyncing array")} description={_("Results are labelled.")} />
            </div>
            <ErrorAlert error={start.error} />
            <div className="mr-actions">
                <AdminButton variant="primary" isLoading={start.busy} isDisabled={busy || start.busy || inTheWay || estimate.data === undefined}
                    onClick={() => void begin()}>{_("Start")}</AdminButton>
                {busy && <span className="mr-subtle">{_("A run is in progress; only one run at a time is possible.")}</span>}
            </div>
        </div>
    );
}
