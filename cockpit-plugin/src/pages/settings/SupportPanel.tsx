// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Modal, ModalBody, ModalFooter, ModalHeader } from "@patternfly/react-core/dist/esm/components/Modal/index.js";
import { AdminButton } from "../../components/AdminButton";
import { DataTable } from "../../components/DataTable";
import { DownloadButton } from "../../components/DownloadButton";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { useVerb } from "../../lib/hooks";
import { _ } from "../../lib/i18n";

/** The support archive: journal, hardware, plan, health and metrics. */
export function SupportPanel(): JSX.Element {
    const [open, setOpen] = useState(false);
    return (
        <Panel title={_("Support")} testId="support">
            <div className="mr-stack">
                <p>{_("An archive of journal, hardware, plan, health and metrics, to be attached to a problem report.")}</p>
                <div className="mr-actions">
                    <AdminButton variant="secondary" onClick={() => setOpen(true)}>{_("Support archive…")}</AdminButton>
                </div>
            </div>
            {open && <SupportDialog onClose={() => setOpen(false)} />}
        </Panel>
    );
}

/** What is in the archive comes first, the archive second. */
function SupportDialog({ onClose }: { onClose: () => void }): JSX.Element {
    const contents = useVerb("support --list", []);
    return (
        <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="support-title" aria-describedby="support-body">
            <ModalHeader title={_("Support archive")} labelId="support-title" />
            {/* nothing in it takes the focus, and it may be longer than the screen */}
            <ModalBody id="support-body" tabIndex={0}>
                <div className="mr-stack">
                    <p>{_("Passwords, keys and tokens are not in it. Names, addresses and serial numbers are replaced. Collecting takes a minute or more.")}</p>
                    <Loaded of={contents} what={_("Loading contents of the archive")}>
                        {({ files }) => (
                            <DataTable label={_("Contents of the support archive")} rows={files} rowKey={(one) => one.name} columns={[
                                { title: _("File"), cell: (one) => <code>{one.name}</code>, heads: true },
                                { title: _("Contents"), cell: (one) => one.what },
                            ]} />
                        )}
                    </Loaded>
                </div>
            </ModalBody>
            <ModalFooter>
                {contents.data !== undefined && (
                    <DownloadButton variant="primary" admin words={["support", "-"]} file="millrace-support.tar.zst" type="application/zstd">
                        {_("Download")}
                    </DownloadButton>
                )}
                <Button variant="link" onClick={onClose}>{_("Close")}</Button>
            </ModalFooter>
        </Modal>
    );
}
