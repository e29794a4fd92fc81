// SPDX-License-Identifier: Apache-2.0
// What may be typed and chosen, as the program has it. Made by `tools/host/enter types`; a test fails where it drifted.
import { _ } from "../lib/i18n";
import { rule } from "../lib/rule";

export const accountName = rule(
    ["[a-z][a-z0-9_-]{0,30}", () => _("$0 cannot be the name of a user or group: use 1 to 31 of a-z, 0-9, - and _, first a letter")],
);

export const client = rule(
    ["[^/]*|[0-9A-Fa-f:.]+(?:/[0-9.]+)?|\\*", () => _("$0 is not a network: write it like 10.0.0.0/24 or fd00:1::/64")],
    ["[^@].*|@[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}|", () => _("$0 is not the name of a netgroup")],
    ["@.*|.*/.*|\\*|[0-9.]+|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*|(?!(?:.*\\.)?[0-9]+$)(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*", () => _("$0 is not a client: give a network (10.0.0.0/24), an address, a host name or an @netgroup, and the options apart from it")],
);

export const comment = rule(
    [".{0,200}", () => _("a comment has at most 200 characters, this one has $1")],
    ["(?:[^\\p{C}\\p{Z}]| )*", () => _("a comment is one line of printable characters without blanks at its ends")],
    ["(?! ).*(?<! )", () => _("a comment is one line of printable characters without blanks at its ends")],
    ["[^\\\\%]*", () => _("a comment cannot hold a backslash or a percent sign: Samba would read them as commands")],
);

export const dhchapSecret = rule(
    [".{1,120}", () => _("a DH-HMAC-CHAP secret has 1 to 120 characters, this one has $1")],
);

export const fullName = rule(
    [".{0,80}", () => _("a full name has at most 80 printable characters, without colons and commas")],
    ["(?:[^\\p{C}\\p{Z}]| )*", () => _("a full name has at most 80 printable characters, without colons and commas")],
    ["[^:,]*", () => _("a full name has at most 80 printable characters, without colons and commas")],
);

export const hostAddress = rule(
    ["[0-9.]+|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*", () => _("$0 is not an address: write it like 10.0.0.1")],
);

export const hostName = rule(
    ["(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*", () => _("$0 is not a host name: use letters, digits, - and dots")],
);

export const hostNqn = rule(
    ["nqn\\.[0-9]{4}-(?:0[1-9]|1[0-2])\\.[A-Za-z0-9.-]+(?::[!-.0-~]+)?", () => _("$0 is not an NQN: write the NQN of the host as its /etc/nvme/hostnqn has it, nqn.2014-08.org.nvmexpress:uuid:…")],
    [".{1,223}", () => _("an NQN has at most 223 characters, this one has $1")],
);

export const joiningAccount = rule(
    ["[\\p{L}\\p{N}_][\\p{L}\\p{N}_.$-]{0,103}", () => _("$0 is not an account of the domain: write its name alone, like Administrator")],
);

export const mailAddress = rule(
    ["[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*", () => _("$0 is not a mail address: write it like storage@example.com")],
);

export const metricsReader = rule(
    ["[0-9.]+(?:/[0-9.]+)?|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:/[0-9]+)?", () => _("$0 is not an address or a network: write it like 10.1.0.9 or 10.1.0.0/24")],
);

export const network = rule(
    ["[0-9A-Fa-f:.]+(?:/[0-9.]+)?|\\*", () => _("$0 is not a network: write it like 10.0.0.0/24 or fd00:1::/64")],
);

export const organisationalUnit = rule(
    ["[\\p{L}\\p{N}_ .-]{1,64}(?:/[\\p{L}\\p{N}_ .-]{1,64}){0,9}", () => _("$0 is not an organisational unit: write it from the top down, Servers/Storage")],
);

export const password = rule(
    [".{12,200}", () => _("a password is one line of 12 to 200 printable characters")],
    ["(?:[^\\p{C}\\p{Z}]| )*", () => _("a password is one line of 12 to 200 printable characters")],
);

export const realm = rule(
    ["(?=.{1,253}\\.?$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+\\.?", () => _("$0 is not the name of a domain: write its DNS name, like ad.example.com")],
);

export const recipeUser = rule(
    ["(?:[A-Za-z0-9.-]{1,63}\\\\)?[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}", () => _("$0 is not the name of a user: write NAME or DOMAIN\\NAME")],
);

export const routeName = rule(
    ["[a-z0-9][a-z0-9_-]{0,31}", () => _("$0 cannot be the name of a route: use 1 to 32 of a-z, 0-9, - and _, first a letter or a digit")],
);

export const shareName = rule(
    ["[a-z0-9][a-z0-9_-]{0,63}", () => _("$0 cannot be the name of a share: use 1 to 64 of a-z, 0-9, - and _, first a letter or a digit")],
    ["(?!(?:admin|global|homes|ipc|netlogon|print|printers|profiles|sysvol)$).*", () => _("$0 cannot be the name of a share: it means something else to SMB")],
);

export const size = rule(
    ["none|[0-9]{1,15}[KMGTPkmgtp]?(?:[iI]?[bB])?", () => _("$0 is not a size: write it like 500G or 10T, or none")],
);

export const smbAccount = rule(
    [".*\\\\.*|[a-z][a-z0-9_-]{0,30}", () => _("$0 cannot be the name of a user or group: use 1 to 31 of a-z, 0-9, - and _, first a letter")],
    ["[^\\\\]*|[^\\\\]*\\\\[\\p{L}\\p{N}_](?:[\\p{L}\\p{N}_ .'&()-]{0,254}[\\p{L}\\p{N}_)])?", () => _("$0 cannot be a user or group of a domain: write it like EXAMPLE\\anna")],
    ["[^\\\\]*|[A-Za-z0-9](?:[A-Za-z0-9-]{0,13}[A-Za-z0-9])?\\\\.*", () => _("$0 cannot be a name in a domain: use 1 to 15 of a-z, 0-9 and -")],
);

export const volumeName = rule(
    ["[a-z0-9][a-z0-9_-]{0,63}", () => _("$0 cannot be the name of a volume: use 1 to 64 of a-z, 0-9, - and _, first a letter or a digit")],
);

export const volumeSize = rule(
    ["[0-9]{1,15}[KMGTPkmgtp]?(?:[iI]?[bB])?", () => _("$0 is not the size of a volume: write it like 500G or 10T, 1 MiB at least")],
);

export const ACCELERATORS = ["b200", "mi355"] as const;

export const GPUS = ["nvidia", "amd"] as const;

export const MAIL_SECURITIES = ["starttls", "tls", "none"] as const;

export const PROTOCOLS = ["nfs-tcp", "nfs-tcp-trunked", "nfs-rdma", "nfs-rdma-trunked", "smb-multichannel", "smb-rdma"] as const;

export const SECURITIES = ["sys", "krb5", "krb5i", "krb5p"] as const;

export const SHARE_TYPES = ["training", "checkpoint", "dataset-ro", "home", "mixed"] as const;

export const WRITINGS = ["together", "own", "some"] as const;

export const SQUASHES = ["root", "all", "none"] as const;

export const TRANSPORTS = ["none", "tls", "mtls"] as const;

export const TUNER_PROFILES = ["training", "checkpoint", "mixed", "smb"] as const;

export const VOLUME_TRANSPORTS = ["tcp", "rdma"] as const;

export const WORKLOADS = ["training", "checkpoint", "dataloader", "kvcache", "mixed"] as const;
