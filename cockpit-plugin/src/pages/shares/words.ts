// SPDX-License-Identifier: Apache-2.0
/** What the keywords of the command line mean, for a person. */
import { _ } from "../../lib/i18n";
import type { ShareLogEntry } from "../../types/millrace";
import type { ShareType, Writing } from "./form";

export function typeWord(type: ShareType): string {
    switch (type) {
    case "training": return _("Training data");
    case "checkpoint": return _("Checkpoints");
    case "dataset-ro": return _("Read-only dataset");
    case "home": return _("Home directories");
    case "mixed": return _("General use");
    }
}

export function typeMeaning(type: ShareType): string {
    switch (type) {
    case "training": return _("Large files read by many clients; fastest with a single protocol.");
    case "checkpoint": return _("Large files written sequentially; flushed data is on the drives.");
    case "dataset-ro": return _("No writes; clients cache without limits.");
    case "home": return _("A private directory for each user; always encrypted over SMB.");
    case "mixed": return _("One tree for NFS and SMB clients at the same time.");
    }
}

export function writingWord(writing: Writing): string {
    switch (writing) {
    case "together": return _("Everyone of the share");
    case "own": return _("Each user their own files");
    case "some": return _("Members of a group; all others read");
    }
}

export function writingMeaning(writing: Writing, group: string): string {
    switch (writing) {
    case "together": return group === "" ? _("All users of the share change, rename and delete all files, over NFS and SMB.")
        : _("Members of the group change, rename and delete all files; all others have no access.");
    case "own": return _("All users create files; only their owners change or delete them.");
    case "some": return _("All users of the share read; only members of the group change files.");
    }
}

export function cachingWord(caching: "clients" | "none"): string {
    return caching === "clients"
        ? _("SMB clients keep data and open files (leases, durable handles).")
        : _("None, because NFS clients write the same files: 100 reads of an open file are 100 requests instead of 1, and a lost connection closes the files.");
}

export function denialsWord(denials: "kept" | "refused" | "dropped"): string {
    switch (denials) {
    case "kept": return _("Entries that deny access are kept and count.");
    case "refused": return _("Entries that deny access are refused; remove the entry that allows access instead.");
    case "dropped": return _("Entries that deny access are dropped without an error.");
    }
}

export function actionWord(action: ShareLogEntry["action"]): string {
    switch (action) {
    case "read": return _("read");
    case "opened to write": return _("opened to write");
    case "created": return _("created");
    case "renamed": return _("renamed");
    case "deleted": return _("deleted");
    case "permissions changed": return _("permissions changed");
    }
}

export function squashWord(squash: "root" | "all" | "none"): string {
    switch (squash) {
    case "root": return _("Map root to nobody");
    case "all": return _("Map all users to nobody");
    case "none": return _("No mapping: client root is root on this server");
    }
}

export function securityWord(flavour: "sys" | "krb5" | "krb5i" | "krb5p"): string {
    switch (flavour) {
    case "sys": return _("sys: user IDs sent by the client, not authenticated");
    case "krb5": return _("krb5: Kerberos authentication");
    case "krb5i": return _("krb5i: Kerberos with integrity protection");
    case "krb5p": return _("krb5p: Kerberos with encryption");
    }
}

export function transportWord(transport: "none" | "tls" | "mtls"): string {
    switch (transport) {
    case "none": return _("none: unencrypted");
    case "tls": return _("tls: encrypted");
    case "mtls": return _("mtls: encrypted, with a client certificate");
    }
}
