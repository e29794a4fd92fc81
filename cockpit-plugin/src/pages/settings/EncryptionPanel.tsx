// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { Encryption } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { Panel } from "../../components/Panel";
import { Loaded, NoAdmin } from "../../components/States";
import { moment } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useMay } from "../../lib/permission";
import { Done, type Outcome } from "../../components/Done";
import { BindDialog, KeyShown, RecoveryKeyDialog, SuspendDialog } from "./encryption-dialogs";

/** How the root file system is encrypted, what opens it, and its keys. */
export function EncryptionPanel(): JSX.Element {
    const admin = useMay("viewer");
    const found = useVerb("encryption show", [], { admin: true, when: admin === true });
    const [open, setOpen] = useState<"bind" | "suspend" | "recovery-key">();
    const [did, setDid] = useState<Outcome>();
    // Kept here alone, until it is written down: the server does not have it.
    const [made, setMade] = useState<string>();
    const close = () => setOpen(undefined);
    const changed = (title: string) => {
        close();
        setDid({ title, lines: [], warnings: [] });
        found.reload();
    };
    const now = found.data;
    return (
        <>
            <Done did={did} onClose={() => setDid(undefined)} />
            <Panel title={_("Encryption")} testId="encryption">
                {admin === false
                    ? <NoAdmin what={_("Showing the keys of the root file system requires administrative access.")} />
                    : (
                        <Loaded of={found} what={_("Loading encryption status")}>
                            {(status) => (status.device === null ? <Clear status={status} /> : (
                                <div className="mr-stack">
                                    <Encrypted status={status} />
                                    <div className="mr-actions">
                                        <AdminButton variant="secondary" onClick={() => setOpen("bind")}>{_("Bind to this TPM again…")}</AdminButton>
                                        <AdminButton variant="secondary" onClick={() => setOpen("recovery-key")}>
                                            {status.recovery_key ? _("Replace the recovery key…") : _("Show the recovery key…")}
                                        </AdminButton>
                                        {status.secure_boot && (
                                            <AdminButton variant="link" onClick={() => setOpen("suspend")}>{_("Suspend for a firmware change…")}</AdminButton>
                                        )}
                                    </div>
                                </div>
                            ))}
                        </Loaded>
                    )}
            </Panel>
            {open === "bind" && now !== undefined && (
                <BindDialog now={now} onClose={close}
                    onDone={() => changed(_("The TPM of this server opens the root file system, with Secure Boot as it is now."))} />
            )}
            {open === "suspend" && now !== undefined && (
                <SuspendDialog now={now} onClose={close}
                    onDone={() => changed(_("The TPM does not ask about Secure Boot until the root file system is bound again."))} />
            )}
            {open === "recovery-key" && now !== undefined && (
                <RecoveryKeyDialog now={now} onClose={close} onDone={({ key }) => {
                        if (key === null) return changed(_("The next start of the server makes a recovery key. Restart it, then show the key here."));
                        close();
                        setMade(key);
                        found.reload();
                    }} />
            )}
            {made !== undefined && (
                <KeyShown text={made} onWritten={() => { setMade(undefined); changed(_("The new recovery key is in force.")); }} />
            )}
        </>
    );
}

/** A root file system in the clear: why, and how one is encrypted. */
function Clear({ status }: { status: Encryption }): JSX.Element {
    return (
        <div className="mr-stack">
            <p>{_("The root file system is not encrypted. Anyone with the boot drive can read the configuration, keys and password hashes of this server.")}</p>
            <p>
                {status.without === null
                    ? _("This boot would encrypt a new one. It was made before that, and an existing one is never changed: make a factory reset, then adopt the pool.")
                    : format(_("A new one would not be encrypted, either: $0."), status.without)}
            </p>
            {status.without !== null && (
                <p>{_("Encryption requires a signed image, Secure Boot and a TPM 2.0 at the first boot. With all three, make a factory reset, then adopt the pool.")}</p>
            )}
        </div>
    );
}

function Encrypted({ status }: { status: Encryption }): JSX.Element {
    return (
        <>
            <dl className="mr-definitions">
                <dt>{_("Root file system")}</dt>
                <dd>{status.since === null ? _("encrypted") : format(_("encrypted since $0"), moment(status.since))}</dd>
                <dt>{_("Partition")}</dt><dd>{[status.device, "LUKS2", status.cipher].filter(Boolean).join(", ")}</dd>
                <dt>{_("Opened at the last start")}</dt><dd>{openedBy(status)}</dd>
                <dt>{_("TPM of this server")}</dt><dd>{status.tpm_name ?? (status.tpm ? "TPM 2.0" : _("none"))}</dd>
                <dt>{_("TPM asks for")}</dt><dd>{asksFor(status)}</dd>
                <dt>{_("Recovery key")}</dt><dd>{status.recovery_key ? _("exists; it is stored nowhere") : _("not shown yet")}</dd>
                <dt>{_("Pool")}</dt><dd>{_("not encrypted")}</dd>
            </dl>
            {status.needs.length > 0 && (
                <ul className="mr-findings" aria-label={_("Findings")}>
                    {status.needs.map((need) => <li key={need} className="mr-note-warn">{sentence(need)}</li>)}
                </ul>
            )}
        </>
    );
}

function openedBy({ opened, booted }: Encryption): string {
    if (opened === null) return format(_("not known, or bound again since the start, $0"), moment(booted));
    return opened ? format(_("by the TPM, $0"), moment(booted)) : format(_("with the recovery key, $0"), moment(booted));
}

function asksFor({ bound, secure_boot: secureBoot }: Encryption): string {
    if (!bound) return _("nothing: no TPM is bound");
    return secureBoot
        ? _("a kernel image signed with pcr.key (PCR 11); Secure Boot on, with the keys of the binding (PCR 7)")
        : _("a kernel image signed with pcr.key (PCR 11)");
}

function sentence(need: Encryption["needs"][number]): string {
    switch (need) {
    case "tpm": return _("This server has no TPM 2.0 now: each start asks for the recovery key. Turn the TPM on in the firmware setup, or bind another one.");
    case "bound": return _("The TPM of this server does not open the root file system: each start asks for the recovery key. Bind it to this TPM again.");
    case "suspended": return _("The TPM opens the root file system with Secure Boot off, too. After the firmware change, bind it to this TPM again.");
    case "signer": return _("The TPM asks for an earlier key of kernel images: later versions may ask for the recovery key. Bind it to this TPM again.");
    case "recovery-key": return _("Nobody has the recovery key: with a new mainboard nothing opens the root file system. Show it and write it down.");
    }
}
