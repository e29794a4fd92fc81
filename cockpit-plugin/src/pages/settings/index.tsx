// SPDX-License-Identifier: Apache-2.0
/** By what this server is known: its certificate, and the domain whose people it serves. */
import type { JSX } from "react";
import { PageHeader } from "../../components/PageHeader";
import { _ } from "../../lib/i18n";
import { CertificatePanel } from "./CertificatePanel";
import { DomainPanel } from "./DomainPanel";

export default function Settings(): JSX.Element {
    return (
        <>
            <PageHeader title={_("Settings")}>{_("TLS certificate and Active Directory membership.")}</PageHeader>
            <CertificatePanel />
            <DomainPanel />
        </>
    );
}
