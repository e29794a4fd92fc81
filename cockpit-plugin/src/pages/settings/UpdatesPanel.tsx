// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { LastUpdate, UpdateStatus } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { JobView } from "../../components/JobView";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { moment } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useJob, whileJob } from "../../lib/jobs";
import { Done, type Outcome } from "../../components/Done";
import { InstallDialog } from "./InstallDialog";
import { RebootDialog, RollbackDialog, SourceDialog } from "./update-dialogs";

/** Seconds between two looks at an update, which another administrator may have started. */
const EVERY_SECONDS = 15;

/** Seconds while one is installed: its end is another line of this card. */
const EVERY_SECONDS_OF_JOB = 3;

/** The versions on the boot drive: another one is installed, tried, and rolled back. */
export function UpdatesPanel(): JSX.Element {
    const job = useJob("update");
    const download = useJob("update-download");
    const found = useVerb("update status", [], { admin: "allowed", every: EVERY_SECONDS, ...whileJob(job, EVERY_SECONDS_OF_JOB) });
    const running = job.now !== undefined || download.now !== undefined || found.data?.running === true;
    const [open, setOpen] = useState<"source" | "install" | "rollback" | "reboot">();
    const [did, setDid] = useState<Outcome>();
    const close = () => setOpen(undefined);
    const changed = (title: string) => {
        close();
        setDid({ title, lines: [], warnings: [] });
        found.reload();
    };
    const ended = (last: LastUpdate) => changed(outcome(last));
    return (
        <>
            <Done did={did} onClose={() => setDid(undefined)} />
            <Panel title={_("Updates")} testId="updates">
                <Loaded of={found} what={_("Loading versions")}>
                    {(now) => (
                        <div className="mr-stack">
                            <Versions now={now} />
                            {download.now !== undefined && <JobView job={download.now} onCancelled={download.look} />}
                            {job.now !== undefined && <JobView job={job.now} onCancelled={job.look} />}
                            {now.refusal !== null && <p>{format(_("No update can be installed now: $0"), now.refusal)}</p>}
                            <div className="mr-actions">
                                <AdminButton least="operator" variant="secondary" isDisabled={running || now.trial !== null} onClick={() => setOpen("install")}>
                                    {_("Check for an update…")}
                                </AdminButton>
                                <AdminButton variant="secondary" onClick={() => setOpen("source")}>{_("Change the source…")}</AdminButton>
                                {(now.reboot !== null || (now.trial !== null && now.trial.version !== now.version)) && (
                                    <AdminButton least="operator" variant="secondary" onClick={() => setOpen("reboot")}>{_("Change the reboot…")}</AdminButton>
                                )}
                                {(now.other !== null || now.trial !== null) && (
                                    <AdminButton least="operator" variant="link" isDanger isDisabled={running} onClick={() => setOpen("rollback")}>{_("Go back…")}</AdminButton>
                                )}
                            </div>
                            {open === "source" && (
                                <SourceDialog before={now.url} onDone={() => changed(_("The source of updates has been changed."))} onClose={close} />
                            )}
                            {open === "reboot" && (
                                <RebootDialog onDone={() => changed(_("The reboot for the other version has been changed."))} onClose={close} />
                            )}
                            {open === "install" && <InstallDialog source={now.url} onDone={ended} onClose={close} />}
                            {open === "rollback" && <RollbackDialog now={now} onDone={ended} onClose={close} />}
                        </div>
                    )}
                </Loaded>
            </Panel>
        </>
    );
}

/** How an update ended, in a sentence. */
export function outcome({ version, before, state }: LastUpdate): string {
    switch (state) {
    case "installed": return format(_("Version $0 is installed and starts at the next boot."), version);
    case "accepted": return format(_("Version $0 was accepted."), version);
    case "failed": return format(_("Version $0 failed; $1 runs again."), version, before);
    case "interrupted": return format(_("Version $0 was not installed: the server went down meanwhile."), version);
    case "refused": return format(_("Version $0 was not installed."), version);
    case "rolled-back": return format(_("Version $0 was rolled back to $1."), version, before);
    }
}

function Versions({ now }: { now: UpdateStatus }): JSX.Element {
    const { other, trial, last, failed } = now;
    return (
        <dl className="mr-definitions">
            <dt>{_("Version")}</dt><dd>{now.version}</dd>
            {other !== null && (<><dt>{_("Other version on the boot drive")}</dt><dd>{other.version}</dd></>)}
            {trial !== null && (<><dt>{_("Not accepted yet")}</dt><dd>{trial.version}</dd></>)}
            {now.reboot !== null && (
                <>
                    <dt>{_("Planned reboot")}</dt>
                    <dd>
                        {moment(now.reboot)}
                        {now.reboot_deferred !== null && <div>{format(_("It waits and is tried again every 5 minutes: $0"), now.reboot_deferred)}</div>}
                    </dd>
                </>
            )}
            {last !== null && (
                <>
                    <dt>{_("Last update")}</dt>
                    <dd>
                        {`${outcome(last)} ${moment(last.at)}`}
                        {last.problems.map((one) => <div key={one}>{one}</div>)}
                    </dd>
                </>
            )}
            {failed.length > 0 && (<><dt>{_("Failed on this server")}</dt><dd>{failed.map((one) => one.version).join(", ")}</dd></>)}
            {now.etc_kept.length > 0 && (
                <>
                    <dt>{_("Changed here and kept")}</dt>
                    <dd>{format(_("$0; this version has others in /usr/share/factory/etc"), now.etc_kept.join(", "))}</dd>
                </>
            )}
            {now.etc_problem !== null && (<><dt>{_("Files of this version missing in /etc")}</dt><dd>{now.etc_problem}</dd></>)}
            <dt>{_("Source")}</dt>
            <dd>
                {now.url ?? _("none")}
                {(now.warnings ?? []).map((warning) => <div key={warning} role="alert">{warning}</div>)}
            </dd>
        </dl>
    );
}
