// SPDX-License-Identifier: Apache-2.0
/** What the keywords of the command line mean, for a person. */
import { _ } from "../../lib/i18n";
import type { Profile } from "./form";

export function profileWord(profile: Profile): string {
    switch (profile) {
    case "training": return _("Training data");
    case "checkpoint": return _("Checkpoints");
    case "dataset-ro": return _("Read-only dataset");
    case "home": return _("Home directories");
    case "mixed": return _("General use");
    }
}

export function profileMeaning(profile: Profile): string {
    switch (profile) {
    case "training": return _("Large files that many clients read; one protocol is fastest.");
    case "checkpoint": return _("Large files that are written at once; what was flushed is on the drives.");
    case "dataset-ro": return _("Nobody writes, clients cache without limits.");
    case "home": return _("A private directory for every user; always encrypted over SMB.");
    case "mixed": return _("One tree for NFS and SMB clients at the same time.");
    }
}

export function squashWord(squash: "root" | "all" | "none"): string {
    switch (squash) {
    case "root": return _("Root of the client becomes nobody");
    case "all": return _("Everybody becomes nobody");
    case "none": return _("Root of the client is root here");
    }
}

export function securityWord(flavour: "sys" | "krb5" | "krb5i" | "krb5p"): string {
    switch (flavour) {
    case "sys": return _("sys: numbers of users, not proven");
    case "krb5": return _("krb5: proven by Kerberos");
    case "krb5i": return _("krb5i: Kerberos, signed");
    case "krb5p": return _("krb5p: Kerberos, encrypted");
    }
}

export function transportWord(transport: "none" | "tls" | "mtls"): string {
    switch (transport) {
    case "none": return _("none: in the clear");
    case "tls": return _("tls: encrypted");
    case "mtls": return _("mtls: encrypted, with a client certificate");
    }
}
