// SPDX-License-Identifier: Apache-2.0
/** What the last verification of a share says; the server keeps it. */
import type { KeptVerification, Share } from "../../types/millrace";
import type { Level } from "../../components/Health";
import { moment } from "../../lib/format";
import { _, format } from "../../lib/i18n";

/** Whether a share is served, by its last verification; unknown before the first. */
export function servedState(share: Share, last: KeptVerification | undefined): { level: Level; word: string; why: string | null } {
    if (share.networks.length === 0 && share.smb === null && !share.direct && share.obstacle === null)
        return { level: "UNKNOWN", word: _("Not served"), why: _("NFS and SMB are disabled.") };
    if (last?.result.problem)
        return { level: "FAIL", word: format(_("Not served ($0)"), moment(last.at)), why: last.result.problem };
    if (share.obstacle !== null) return { level: "WARN", word: _("Not served"), why: share.obstacle };
    if (last) {
        const [trouble] = last.result.files;
        return { level: trouble ? "WARN" : "OK", word: format(_("Served, verified $0"), moment(last.at)), why: trouble ?? null };
    }
    return { level: "UNKNOWN", word: _("Not verified"), why: null };
}
