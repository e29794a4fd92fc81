// SPDX-License-Identifier: Apache-2.0
/** The power over a server that a kept state gives, in words. */
import type { KeptState } from "../../types/millrace";
import { _ } from "../../lib/i18n";

export type Trusted = KeptState["trusted"][number];

export function trustWord(kind: Trusted["kind"]): string {
    switch (kind) {
    case "people": return _("Administrators, operators and viewers with their keys");
    case "password": return _("The password of the last server's administrator");
    case "ssh-keys": return _("SSH keys that sign in");
    case "ssh": return _("SSH is turned on");
    case "update-keys": return _("A key that signs updates");
    case "updates": return _("The URL of updates");
    case "alerts": return _("Receivers of alerts");
    case "backups": return _("Backups with their targets and credentials");
    case "journal": return _("The host that receives the journal");
    case "client-networks": return _("Networks whose clients mount shares");
    case "readers": return _("Servers that read the snapshots of shares");
    case "replicas": return _("Servers that replicas are read from");
    case "network": return _("Addresses, DNS, NTP and routes");
    }
}
