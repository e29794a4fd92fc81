// SPDX-License-Identifier: Apache-2.0
import type { VolumeExport } from "../../types/millrace";
import { _ } from "../../lib/i18n";

export function transportWord(transport: VolumeExport["transport"]): string {
    switch (transport) {
    case "tcp": return _("NVMe/TCP");
    case "rdma": return _("NVMe/RDMA");
    }
}
