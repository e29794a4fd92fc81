// SPDX-License-Identifier: Apache-2.0
/** A secret that is shown once: it stays on the screen until the administrator confirms that it is written down. */
import { useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Modal, ModalBody, ModalFooter, ModalHeader } from "@patternfly/react-core/dist/esm/components/Modal/index.js";
import { _ } from "../lib/i18n";
import { CopyBlock } from "./CopyBlock";

export function ShownOnce({ testId, title, about, label, text, confirmation, onWritten }: {
    testId: string; title: string; about: string; label: string; text: string; confirmation: string; onWritten: () => void;
}): JSX.Element {
    const [written, setWritten] = useState(false);
    return (
        <Modal isOpen variant="medium" aria-labelledby={`${testId}-title`} aria-describedby={`${testId}-body`} data-testid={testId}>
            <ModalHeader title={title} labelId={`${testId}-title`} />
            <ModalBody id={`${testId}-body`}>
                <div className="mr-stack">
                    <p>{about}</p>
                    <CopyBlock label={label} text={text} />
                    <Checkbox id="written-down" label={confirmation} isChecked={written} onChange={(_event, on) => setWritten(on)} />
                </div>
            </ModalBody>
            <ModalFooter>
                <Button variant="primary" isDisabled={!written} onClick={onWritten}>{_("Close")}</Button>
            </ModalFooter>
        </Modal>
    );
}
