// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import { CopyBlock } from "../../components/CopyBlock";
import { TextField } from "../../components/Field";
import { Panel } from "../../components/Panel";
import { ErrorState, Loading } from "../../components/States";
import { useVerb } from "../../lib/hooks";
import { _ } from "../../lib/i18n";
import { useDebounced } from "../../lib/debounce";
import type { Choice } from "./choice";

function Objects({ words }: { words: string[] }): JSX.Element {
    const found = useVerb("client kubernetes", useDebounced(words));
    if (found.error !== undefined) return <ErrorState error={found.error} retry={found.reload} />;
    if (found.data === undefined) return <Loading what={_("Loading recipe")} />;
    const { share, yaml, notes } = found.data;
    return (
        <>
            <CopyBlock label={_("Apply with kubectl apply -f")} text={yaml} file={`millrace-${share}.yaml`} />
            <ul className="mr-notes">
                {notes.map(({ text, source }) => <li key={text}>{text} <span className="mr-subtle mr-small">{source}</span></li>)}
            </ul>
        </>
    );
}

/** The share for a cluster, through csi-driver-nfs; asked for only when it is opened. */
export function Kubernetes({ choice: { share, host, workload } }: { choice: Choice }): JSX.Element {
    const [open, setOpen] = useState(false);
    const [name, setName] = useState("");
    const [datasets, setDatasets] = useState("");
    const words = [
        `--share=${share}`, `--workload=${workload}`, ...(host === "" ? [] : [`--host=${host}`]), ...(name === "" ? [] : [`--class=${name}`]),
        ...datasets.split(/\s+/).filter(Boolean).map((one) => `--dataset=${one}`),
    ];
    return (
        <Panel title={_("Kubernetes")} wide testId="kubernetes">
            <div className="mr-stack">
                <p>{_("Volumes of this share for a cluster with csi-driver-nfs: claims of pods, and data sets that pods only read.")}</p>
                {!open && <Button variant="secondary" className="mr-start" onClick={() => setOpen(true)}>{_("Show objects")}</Button>}
                {open && (
                    <>
                        <Form className="mr-fields" onSubmit={(event) => event.preventDefault()}>
                            <TextField id="class-name" label={_("Name of the StorageClass")} value={name} onChange={setName} placeholder={`millrace-${share}`} />
                            <TextField id="datasets" label={_("Data sets")} value={datasets} onChange={setDatasets}
                                help={_("Directories of the share, separated by blanks.")} />
                        </Form>
                        <Objects words={words} />
                    </>
                )}
            </div>
        </Panel>
    );
}
