// SPDX-License-Identifier: Apache-2.0
/** Clone a share or a directory of one, after its forecast. The work is a unit of the server: it goes on without this page. */
import { useEffect, useRef, useState, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { Clone, CloneForecast, Share } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { bytes, duration, number } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { follow, type CliError } from "../../lib/millrace";

function Forecast({ of }: { of: CloneForecast }): JSX.Element {
    return (
        <>
            <p>{format(_("$0 files and directories, about $1."), number(of.entries), duration(of.seconds))}{" "}
                {of.measured ? _("Time at the rate of the last clone.") : _("Time estimated: this server has not measured a clone yet.")}</p>
            <p>{format(_("$0 of the pool are written. Against the quota of the target, $1 count."), bytes(of.metadata), bytes(of.charged))}</p>
            {of.obstacle !== null && <Alert isInline variant="danger" title={_("It does not fit")}>{of.obstacle}</Alert>}
        </>
    );
}

export function CloneShare({ share, onDone, onClose }: { share: Share; onDone: (clone: Clone) => void; onClose: () => void }): JSX.Element {
    const [directory, setDirectory] = useState("");
    const [target, setTarget] = useState(`${share.name}-2`);
    const [seal, setSeal] = useState(false);
    const [forecast, setForecast] = useState<CloneForecast>();
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<CliError>();
    const stop = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => stop.current?.abort(), []);

    const started = (words: string[], on: (line: object) => void) => {
        const signal = (stop.current = new AbortController()).signal;
        const source = directory === "" ? share.name : `${share.name}/${directory}`;
        setBusy(true);
        setError(undefined);
        follow("share clone", [source, target, ...(seal ? ["--seal"] : []), ...words], on, { admin: true, signal })
            .then(() => { if (!signal.aborted) setBusy(false); }, (failed: CliError) => { setBusy(false); setError(failed); });
    };
    const estimate = () => started(["--dry-run"], (line) => { if ("metadata" in line) setForecast(line as CloneForecast); });
    const clone = () => started([], (line) => { if ("state" in line && (line as Clone).state === "done") onDone(line as Clone); });
    const change = <T,>(set: (value: T) => void) => (value: T) => { set(value); setForecast(undefined); };
    const ready = forecast === undefined ? target !== "" : forecast.obstacle === null;
    return (
        <ConfirmDialog title={format(_("Clone the share $0"), share.name)} action={forecast === undefined ? _("Show forecast") : _("Clone")}
            ready={ready} busy={busy} error={error} onConfirm={forecast === undefined ? estimate : clone} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("The clone shares its blocks with the original until one of them is written. It appears when it is complete.")}</p>
                <Form onSubmit={(event) => event.preventDefault()}>
                    <TextField id="clone-directory" label={_("Directory of the share")} value={directory} onChange={change(setDirectory)}
                        disabled={busy} help={_("Empty for the whole share.")} />
                    <TextField id="clone-target" label={_("Target")} value={target} onChange={change(setTarget)} disabled={busy} required
                        help={_("A new share, or a directory like data/imagenet-2 that does not exist yet.")} />
                    <Checkbox id="clone-seal" label={_("Seal the clone")} isChecked={seal} isDisabled={busy}
                        description={_("A share that no client can write until an administrator unseals it.")}
                        onChange={(_event, checked) => change(setSeal)(checked)} />
                </Form>
                {forecast !== undefined && <Forecast of={forecast} />}
            </div>
        </ConfirmDialog>
    );
}
