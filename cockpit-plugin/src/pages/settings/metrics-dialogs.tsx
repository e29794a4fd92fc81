// SPDX-License-Identifier: Apache-2.0
/** Who reads metrics. The server makes the token: none is typed here and none is on a command line. */
import { useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { MetricsEndpoint } from "../../types/millrace";
import * as rules from "../../types/rules";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ChoiceField, TextField } from "../../components/Field";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";

type Readers = "token" | "addresses" | "both";
type OnDone = (now: MetricsEndpoint) => void;

const READERS: readonly Readers[] = ["token", "addresses", "both"];
/** Seconds: the metrics are collected once before the verb ends, and a source of them may be slow. */
const ON_SECONDS = 120;

const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);
const words = (addresses: string[], token: boolean) => [...(token ? ["--new-token"] : []), ...addresses.map((one) => `--from=${one}`)];

export function readersOf({ addresses, token }: MetricsEndpoint): Readers {
    return addresses.length === 0 ? "token" : token ? "both" : "addresses";
}

export function readersName(readers: Readers): string {
    switch (readers) {
    case "token": return _("Any address with the token");
    case "addresses": return _("Certain addresses, without a token");
    case "both": return _("Certain addresses with the token");
    }
}

/** Switches the endpoint on, or changes the readers of one that is on. */
export function ReadersDialog({ before, onDone, onClose }: { before?: MetricsEndpoint; onDone: OnDone; onClose: () => void }): JSX.Element {
    const [readers, setReaders] = useState<Readers>(before === undefined ? "token" : readersOf(before));
    const [typed, setTyped] = useState(before?.addresses.join(" ") ?? "");
    const turn = useChange("metrics on", { timeout: ON_SECONDS });
    const addresses = readers === "token" ? [] : list(typed);
    const problem = addresses.map(rules.metricsReader).find((one) => one !== undefined);
    const good = problem === undefined && (readers === "token" || addresses.length > 0);
    const confirm = async () => {
        const now = await turn.go(words(addresses, readers !== "addresses"));
        if (now !== undefined) onDone(now);
    };
    return (
        <ConfirmDialog title={before === undefined ? _("Switch on metrics") : _("Change who reads metrics")}
            action={before === undefined ? _("Switch on") : _("Change")} ready={good} busy={turn.busy} error={turn.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <ChoiceField id="metrics-readers" label={_("Readers")} value={readers} onChange={setReaders}
                    options={READERS.map((value) => ({ value, label: readersName(value) }))}
                    help={readers === "addresses" ? _("Every user of these hosts can read the metrics.")
                        : before?.token === true ? _("The server makes a new token and shows it once. The present token is rejected at once.")
                            : _("The server makes the token and shows it once.")} />
                {readers !== "token" && (
                    <TextField id="metrics-addresses" label={_("Addresses or networks")} required value={typed} onChange={setTyped} problem={problem}
                        placeholder="10.1.0.9 10.2.0.0/24" help={_("Separate with spaces.")} />
                )}
            </Form>
        </ConfirmDialog>
    );
}

export function TokenDialog({ endpoint, onDone, onClose }: { endpoint: MetricsEndpoint; onDone: OnDone; onClose: () => void }): JSX.Element {
    const turn = useChange("metrics on", { timeout: ON_SECONDS });
    const confirm = async () => {
        const now = await turn.go(words(endpoint.addresses, true));
        if (now !== undefined) onDone(now);
    };
    return (
        <ConfirmDialog title={_("Replace the token?")} action={_("Replace")} busy={turn.busy} error={turn.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <p>{_("The server makes a new token and shows it once. The present token is rejected at once.")}</p>
            {endpoint.addresses.length > 0 && <p>{format(_("Allowed addresses stay: $0"), endpoint.addresses.join(", "))}</p>}
        </ConfirmDialog>
    );
}

export function OffDialog({ onDone, onClose }: { onDone: OnDone; onClose: () => void }): JSX.Element {
    const turn = useChange("metrics off");
    const confirm = async () => {
        const now = await turn.go();
        if (now !== undefined) onDone(now);
    };
    return (
        <ConfirmDialog danger title={_("Switch off metrics?")} action={_("Switch off")} busy={turn.busy} error={turn.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <p>{_("Monitoring systems can no longer read metrics of this server. The list of addresses and the token are deleted.")}</p>
        </ConfirmDialog>
    );
}
