// SPDX-License-Identifier: Apache-2.0
/** By what this server is known: its certificate, and the domain whose people it serves; and to whom it reports. */
import type { JSX } from "react";
import { PageHeader } from "../../components/PageHeader";
import { _ } from "../../lib/i18n";
import { AlertsPanel } from "./AlertsPanel";
import { CertificatePanel } from "./CertificatePanel";
import { DomainPanel } from "./DomainPanel";
import { EncryptionPanel } from "./EncryptionPanel";
import { MetricsPanel } from "./MetricsPanel";
import { PolicyPanel } from "./PolicyPanel";
import { ResetPanel } from "./ResetPanel";
import { SupportPanel } from "./SupportPanel";
import { TuningPanel } from "./TuningPanel";
import { UpdatesPanel } from "./UpdatesPanel";

export default function Settings(): JSX.Element {
    return (
        <>
            <PageHeader title={_("Settings")}>{_("TLS certificate, Active Directory membership, alerts, metrics, updates, encryption, policy and tuning.")}</PageHeader>
            <CertificatePanel />
            <DomainPanel />
            <AlertsPanel />
            <MetricsPanel />
            <UpdatesPanel />
            <EncryptionPanel />
            <PolicyPanel />
            <TuningPanel />
            <SupportPanel />
            <ResetPanel />
        </>
    );
}
