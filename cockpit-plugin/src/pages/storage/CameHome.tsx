// SPDX-License-Identifier: Apache-2.0
/** A pool that was used with another boot drive meanwhile: it is not served before an administrator decides which state counts. */
import { useState, type JSX } from "react";
import { Alert, AlertActionCloseButton } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { KeepStatus, KeptElsewhere } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { Verdict } from "../../components/Health";
import { moment } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { BEGIN_SECONDS } from "./AdoptDialog";
import { trustWord } from "./trust";

/** Seconds: the pool is mounted again, and its state is written. */
const SERVES = 600;

export function CameHome({ elsewhere, onDone }: { elsewhere: KeptElsewhere | null; onDone: () => void }): JSX.Element | null {
    const [asked, ask] = useState<"adopt" | "keep">();
    const [kept, setKept] = useState<KeepStatus>();
    const close = () => ask(undefined);
    return (
        <>
            {kept && <Kept status={kept} onClose={() => setKept(undefined)} />}
            {elsewhere && <Undecided one={elsewhere} ask={ask} />}
            {elsewhere && asked === "adopt" && <TakeOver one={elsewhere} onDone={() => { close(); onDone(); }} onClose={close} />}
            {elsewhere && asked === "keep" && <UseLocal one={elsewhere} onDone={(status) => { close(); setKept(status); onDone(); }} onClose={close} />}
        </>
    );
}

function Undecided({ one, ask }: { one: KeptElsewhere; ask: (what: "adopt" | "keep") => void }): JSX.Element {
    const names = (all: string[]) => (all.length === 0 ? _("none") : all.join(", "));
    return (
        <Verdict id="came-home" level="FAIL" title={one.same_drive
            ? _("The pool is not served: this boot drive is an older copy")
            : _("The pool is not served: another server used it meanwhile")}>
            <p>{_("Decide which state of shares, users, keys and addresses this server uses. Neither decision changes files in the shares.")}</p>
            {readable(one)
                ? (
                    <dl className="mr-definitions">
                        <dt>{_("Last server")}</dt><dd>{one.host}</dd>
                        <dt>{_("State on the pool")}</dt><dd>{format(_("$0, number $1, by version $2"), moment(one.written), one.generation, one.release ?? _("unknown"))}</dd>
                        <dt>{_("Shares")}</dt><dd>{names(one.shares)}</dd>
                        <dt>{_("Users")}</dt><dd>{names(one.users)}</dd>
                    </dl>
                )
                : <p>{format(_("The state on the pool, number $0, requires version $1. To take it over, boot an image of that version."), one.generation, one.release ?? _("unknown"))}</p>}
            <div className="mr-actions">
                {readable(one) && <AdminButton variant="primary" onClick={() => ask("adopt")}>{_("Use the state on the pool…")}</AdminButton>}
                <AdminButton variant="secondary" onClick={() => ask("keep")}>{_("Use the state of this server…")}</AdminButton>
            </div>
        </Verdict>
    );
}

/** Of a state that only a later version reads, neither server nor day is known. */
const readable = ({ written }: KeptElsewhere): boolean => written !== null;

function TakeOver({ one, onDone, onClose }: { one: KeptElsewhere; onDone: () => void; onClose: () => void }): JSX.Element {
    const [passphrase, setPassphrase] = useState("");
    const adopt = useChange("pool adopt --detach", { timeout: BEGIN_SECONDS });
    const ready = !one.sealed || passphrase !== "";
    const confirm = async () => {
        const how = one.sealed ? ["--passphrase-stdin"] : [];
        if (await adopt.go([one.pool, "--yes", ...how], one.sealed ? `${passphrase}\n` : "") !== undefined) onDone();
    };
    return (
        <ConfirmDialog danger title={_("Use the state on the pool?")} action={_("Replace the state of this server")} ready={ready} busy={adopt.busy} error={adopt.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => { event.preventDefault(); if (!adopt.busy && ready) void confirm(); }}>
                <ul className="mr-notes">
                    <li>{_("No drive is erased, and no data of the pool is changed.")}</li>
                    <li>{format(_("This server takes the name $0, the users, keys and shares of the pool. What was set on this boot drive is replaced."), one.host ?? "")}</li>
                    <li>{_("Lost: users, alert routes, keys and the policy of this server, and SSH keys of admin and root, unless the state on the pool has them too.")}</li>
                    <li>{_("The administrator then has the password of the pool.")}</li>
                    <li>{_("The addresses of the ports become those of the state. If this page does not respond any more, open it at one of them.")}</li>
                </ul>
                {one.trusted !== undefined && one.trusted.length > 0 && (
                    <section aria-label={_("Power over this server")}>
                        <p>{_("This power over the server comes with the state. If another person had the drives, use the state of this server.")}</p>
                        <ul className="mr-notes">
                            {one.trusted.map(({ kind, details }) => (
                                <li key={kind}>{trustWord(kind)} <small className="mr-subtle mr-anywhere">{details.join(", ")}</small></li>
                            ))}
                        </ul>
                    </section>
                )}
                {one.sealed && (
                    <TextField id="home-passphrase" type="password" label={_("Passphrase of the kept state")} required value={passphrase}
                        onChange={setPassphrase} disabled={adopt.busy} />
                )}
            </Form>
        </ConfirmDialog>
    );
}

function UseLocal({ one, onDone, onClose }: { one: KeptElsewhere; onDone: (status: KeepStatus) => void; onClose: () => void }): JSX.Element {
    const use = useChange("keep use-local", { timeout: SERVES });
    const confirm = async () => {
        const status = await use.go(["--yes"]);
        if (status !== undefined) onDone(status);
    };
    return (
        <ConfirmDialog danger title={_("Use the state of this server?")} action={_("Serve with the state of this server")} busy={use.busy} error={use.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <ul className="mr-notes">
                <li>{_("No drive is erased, and no data of the pool is changed.")}</li>
                <li>{_("The pool is served with the shares, users, keys and addresses of this boot drive.")}</li>
                <li>{one.same_drive || one.host === null
                    ? _("Lost: changes to shares, users, passwords and keys since then. The files of new shares stay on the pool, but are not exported.")
                    : format(_("Lost: changes to shares, users, passwords and keys on $0. The files of its new shares stay on the pool, but are not exported."), one.host)}</li>
                <li>{format(_("The other state stays on the pool as number $0 until 30 newer states are kept."), one.generation)}</li>
            </ul>
        </ConfirmDialog>
    );
}

function Kept({ status: { generation, problem }, onClose }: { status: KeepStatus; onClose: () => void }): JSX.Element {
    return (
        <Alert variant={problem === null ? "success" : "warning"} isInline data-testid="used-local" actionClose={<AlertActionCloseButton onClose={onClose} />}
            title={_("The pool is served with the state of this server")}>
            <p>{problem === null
                ? format(_("It is kept on the pool as number $0."), generation ?? _("unknown"))
                : format(_("It is not kept on the pool: $0"), problem)}</p>
        </Alert>
    );
}
