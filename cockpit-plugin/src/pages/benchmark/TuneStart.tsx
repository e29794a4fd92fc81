// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { BenchClient, TunerEstimate } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { DataTable } from "../../components/DataTable";
import { ChoiceField, TextField } from "../../components/Field";
import { ErrorAlert, Loaded } from "../../components/States";
import { binary, duration, number, percent } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useAdmin } from "../../lib/permission";
import { TUNER_PROFILES } from "../../types/rules";
import { Drive, Obstacles, START_SECONDS } from "./StartPanel";
import { costWord, goalWord, knobWord, levelWord, profileTitle } from "./tune-words";

const PROFILES = [...TUNER_PROFILES, "own"] as const;
const HOURS = ["1", "2", "4", "8", "16"] as const;
/** Milliseconds: goals are typed by the letter. */
const TYPED = 500;

function Planned({ estimate: { budget, each, fewest, goals, knobs, least, left_out, obstacles, space } }: { estimate: TunerEstimate }): JSX.Element {
    return (
        <div className="mr-stack" data-testid="tune-estimate">
            <dl className="mr-definitions">
                <dt>{_("Estimated duration")}</dt><dd>{format(_("$0 at most, $1 at least"), duration(budget), duration(least))}</dd>
                <dt>{_("Readings")}</dt><dd>{format(_("$0 or more, $1 s each"), number(fewest), number(each))}</dd>
                <dt>{_("Maximum size of test files")}</dt><dd>{binary(space)}</dd>
                <dt>{_("Goals")}</dt><dd>{goals.map((goal) => `${goalWord(goal)} (${percent(goal.weight)})`).join(", ")}</dd>
            </dl>
            <DataTable label={_("Settings to try")} rows={knobs} rowKey={({ name }) => name} columns={[
                { title: _("Setting"), heads: true, cell: ({ name, title, setting }) => <>{knobWord(name, title)}<div className="mr-small mr-subtle"><code>{setting}</code></div></> },
                { title: _("Plan"), figures: true, cell: ({ name, planned }) => levelWord(name, planned) },
                { title: _("Kernel default"), figures: true, cell: (knob) => levelWord(knob.name, knob.default) },
                { title: _("Values to try"), cell: ({ name, levels }) => levels.map((level) => levelWord(name, level)).join(", ") },
                { title: _("A change interrupts"), cell: ({ cost }) => costWord(cost) },
            ]} />
            <details className="mr-details">
                <summary>{_("Skipped, with reason")}</summary>
                <ul>{left_out.map(({ name, reason }) => <li key={name}>{format(_("$0: $1"), name, reason)}</li>)}</ul>
            </details>
            <p>{_("Settings are changed while the server is measured. At the end, after a stop and after a power cut those of the plan are in force again; the result is applied by an administrator only.")}</p>
            <Obstacles of={obstacles} />
        </div>
    );
}

/** Pick goals and a budget, see what would be tried and how long, start. */
export function TuneStart({ clients, busy, onStarted }: { clients: BenchClient[]; busy: boolean; onStarted: () => void }): JSX.Element {
    const admin = useAdmin();
    const [profile, setProfile] = useState<(typeof PROFILES)[number]>("mixed");
    const [goals, setGoals] = useState("seq-read=3,fsync=1");
    const [hours, setHours] = useState<(typeof HOURS)[number]>("1");
    const [driven, setDriven] = useState<string[]>([]);
    const wanted = goals.trim();
    const [typed, setTyped] = useState(wanted);
    useEffect(() => {
        const timer = setTimeout(() => setTyped(wanted), TYPED);
        return () => clearTimeout(timer);
    }, [wanted]);
    const words = [
        profile === "own" ? `--goal=${typed}` : `--profile=${profile}`,
        `--budget=${hours}h`,
        ...clients.filter(({ name }) => driven.includes(name)).map(({ name }) => `--client=${name}`),
    ];
    // Asked again when a run has ended: while one is active there is nothing to estimate, and it is not disturbed.
    const estimate = useVerb("tuner estimate", words, { admin: admin === true, when: admin !== null && !busy, timeout: START_SECONDS });
    const start = useChange("tuner start", { timeout: START_SECONDS });
    const begin = async () => { if (await start.go(words) !== undefined) onStarted(); };
    const obstacles = estimate.data?.obstacles.length;
    const ready = !busy && !start.busy && !estimate.busy && estimate.error === undefined && obstacles === 0
        && (profile !== "own" || typed === wanted);
    return (
        <div className="mr-stack">
            <Form className="mr-fields" onSubmit={(event) => event.preventDefault()}>
                <ChoiceField id="tune-profile" label={_("Tune for")} value={profile} onChange={setProfile}
                    options={PROFILES.map((value) => ({ value, label: profileTitle(value) }))} />
                {profile === "own" && (
                    <TextField id="tune-goals" label={_("Goals with weights")} value={goals} onChange={setGoals}
                        help={_("As of `millrace tuner run --goal`. A goal is measured over NFS, with smb- before its name over SMB, with local- on this server.")} />
                )}
                <ChoiceField id="tune-budget" label={_("Time at most")} value={hours} onChange={setHours}
                    options={HOURS.map((value) => ({ value, label: duration(Number(value) * 3600) }))} />
            </Form>
            <Drive clients={clients} about={_("Drives the load over NFS in place of this server.")} driven={driven} onChange={setDriven} />
            {/* What was estimated before is not that of a request that is refused. */}
            {!busy && (
                <Loaded of={estimate.error === undefined ? estimate : { ...estimate, data: undefined }} what={_("Calculating estimate")}>
                    {(found) => <Planned estimate={found} />}
                </Loaded>
            )}
            <ErrorAlert error={start.error} />
            <div className="mr-actions">
                <AdminButton variant="primary" isLoading={start.busy} isDisabled={!ready} onClick={() => void begin()}>{_("Start")}</AdminButton>
                {!busy && obstacles !== undefined && obstacles > 0 && <Button variant="link" isInline isDisabled={estimate.busy} onClick={estimate.reload}>{_("Try again")}</Button>}
                {busy && <span className="mr-subtle">{_("A run is in progress; only one run at a time is possible.")}</span>}
            </div>
        </div>
    );
}
