// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { PageHeader } from "../../components/PageHeader";
import { _ } from "../../lib/i18n";

export default function Server(): JSX.Element {
    return <PageHeader title={_("Server")} />;
}
