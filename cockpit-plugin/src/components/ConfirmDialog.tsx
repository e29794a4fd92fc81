// SPDX-License-Identifier: Apache-2.0
import type { JSX, ReactNode } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Modal, ModalBody, ModalFooter, ModalHeader } from "@patternfly/react-core/dist/esm/components/Modal/index.js";
import { _ } from "../lib/i18n";
import type { CliError } from "../lib/millrace";
import { ErrorAlert } from "./States";

/** "Do you really", with what will happen; stays open with the program's sentence where it did not happen. */
export function ConfirmDialog({ title, children, action, danger = false, ready = true, busy = false, error, onConfirm, onClose }: {
    title: string;
    children: ReactNode;
    /** What the button says: a verb, never "OK". */
    action: string;
    danger?: boolean;
    /** false: something must be typed or ticked first. */
    ready?: boolean;
    busy?: boolean;
    error?: CliError | undefined;
    onConfirm: () => void;
    onClose: () => void;
}): JSX.Element {
    return (
        <Modal isOpen variant="medium" onClose={busy ? () => undefined : onClose} aria-labelledby="confirm-title" aria-describedby="confirm-body"
            data-testid="confirm">
            <ModalHeader title={title} labelId="confirm-title" {...(danger && { titleIconVariant: "warning" })} />
            <ModalBody id="confirm-body">
                <ErrorAlert error={error} />
                {children}
            </ModalBody>
            <ModalFooter>
                <Button variant={danger ? "danger" : "primary"} isDisabled={!ready || busy} isLoading={busy} onClick={onConfirm}>{action}</Button>
                <Button variant="link" isDisabled={busy} onClick={onClose}>{_("Cancel")}</Button>
            </ModalFooter>
        </Modal>
    );
}
