// SPDX-License-Identifier: Apache-2.0
import { _ } from "./i18n";

/** Which protocol, and for whom: "which one is for my machine" is what people ask. */
export function protocolName(name: string): string {
    switch (name) {
    case "nfs": return _("NFS");
    case "nfs-tcp": return _("NFS over TCP");
    case "nfs-rdma": return _("NFS over RDMA");
    case "smb": return _("SMB");
    default: return name;
    }
}
