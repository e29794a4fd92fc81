// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { Sheet as ModelSheet, Submission } from "../../types/millrace";
import { CopyBlock } from "../../components/CopyBlock";
import { ChoiceField, TextField } from "../../components/Field";
import { Panel } from "../../components/Panel";
import { ErrorState, Loading } from "../../components/States";
import { bytes } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { ACCELERATORS, size } from "../../types/rules";

interface Asked {
    share: string;
    memory: string;
    clients: string;
    accelerator: (typeof ACCELERATORS)[number];
}

const words = ({ share, memory, clients, accelerator }: Asked): string[] =>
    [`--share=${share}`, `--client-memory=${memory}`, `--clients=${clients}`, `--accelerator=${accelerator}`];

function Sheet({ sheet }: { sheet: ModelSheet }): JSX.Element {
    const { kind, model, commands, notes, forecast, fits } = sheet;
    return (
        <details className="mr-details" data-testid={`mlperf-${model}`}>
            <summary>
                {format(_("$0: $1"), kind, model)}
                {sheet.size !== null && ` (${fits ? bytes(sheet.size) : format(_("$0, too large for the pool"), bytes(sheet.size))})`}
            </summary>
            {forecast !== null && <p>{format(_("Forecast: $0 × $1"), forecast.count ?? _("unknown"), forecast.accelerator)} <span className="mr-subtle">{forecast.text}</span></p>}
            <CopyBlock label={_("Commands on a client")} text={commands.map((one) => `${one}\n`).join("")} />
            <ul className="mr-notes">
                {notes.map(({ text, source }) => <li key={text}>{text} <span className="mr-subtle mr-small">{source}</span></li>)}
            </ul>
        </details>
    );
}

function Shown({ made }: { made: Submission }): JSX.Element {
    return (
        <div className="mr-stack">
            <CopyBlock label={made.system.path} text={made.system.text} file={made.system.path.slice("systems/".length)} />
            <p>{format(_("Fields to fill in: $0"), made.unknown.length)}</p>
            {made.sheets.map((sheet) => <Sheet key={sheet.model} sheet={sheet} />)}
        </div>
    );
}

function Asking({ asked }: { asked: Asked }): JSX.Element {
    const found = useVerb("client mlperf", words(asked));
    if (found.error !== undefined) return <ErrorState error={found.error} retry={found.reload} />;
    if (found.data === undefined) return <Loading what={_("Calculating sizes")} />;
    return <Shown made={found.data} />;
}

/** The server's half of a submission to MLPerf Storage, and what clients run; the result comes back with `bench import`. */
export function MlperfPanel(): JSX.Element {
    const list = useVerb("share list");
    const shares = list.data?.shares ?? [];
    const [asked, setAsked] = useState<Asked>({ share: "", memory: "", clients: "1", accelerator: "b200" });
    const [given, setGiven] = useState<Asked>();
    const now = { ...asked, share: asked.share === "" ? shares[0]?.name ?? "" : asked.share };
    const memory = now.memory === "" ? undefined : size(now.memory);
    const clients = /^[1-9][0-9]{0,3}$/.test(now.clients) ? undefined : _("Enter a number from 1 to 1024.");
    const set = (changed: Partial<Asked>) => setAsked((old) => ({ ...old, ...changed }));
    return (
        <Panel title={_("MLPerf Storage")} wide testId="mlperf">
            <div className="mr-stack">
                <p>{_("Description of this server for a submission, and commands with the sizes that the rules ask for.")}</p>
                <Form className="mr-fields" onSubmit={(event) => event.preventDefault()}>
                    <ChoiceField id="mlperf-share" label={_("Share")} value={now.share} onChange={(share) => set({ share })}
                        options={shares.map(({ name }) => ({ value: name, label: name }))} />
                    <ChoiceField id="mlperf-accelerator" label={_("Accelerator")} value={now.accelerator} onChange={(accelerator) => set({ accelerator })}
                        options={ACCELERATORS.map((value) => ({ value, label: value.toUpperCase() }))} />
                    <TextField id="mlperf-clients" label={_("Number of clients")} value={now.clients} problem={clients} onChange={(text) => set({ clients: text })} />
                    <TextField id="mlperf-memory" label={_("Memory of one client")} value={now.memory} problem={memory} placeholder="512G"
                        onChange={(text) => set({ memory: text })} />
                </Form>
                <div className="mr-actions">
                    <Button variant="secondary" isDisabled={now.share === "" || now.memory === "" || memory !== undefined || clients !== undefined}
                        onClick={() => setGiven(now)}>{_("Calculate")}</Button>
                </div>
                {given !== undefined && <Asking key={words(given).join(" ")} asked={given} />}
            </div>
        </Panel>
    );
}
