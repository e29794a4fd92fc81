// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Button, type ButtonProps } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Tooltip } from "@patternfly/react-core/dist/esm/components/Tooltip/index.js";
import { _ } from "../lib/i18n";
import { useLowerRole, useMay, type Role } from "../lib/permission";

/** A button that changes something: who may not use it has it in reach of the keyboard, with the reason. */
export function AdminButton({ least = "administrator", ...props }: ButtonProps & { least?: Role }): JSX.Element {
    const may = useMay(least);
    const lower = useLowerRole();
    if (may !== false) return <Button {...props} isDisabled={props.isDisabled === true || may === null} />;
    return (
        <Tooltip content={lower === undefined
            ? _("Limited access: this action requires administrative access.")
            : least === "operator" ? _("This action is for operators and administrators.") : _("This action is for administrators.")}>
            <Button {...props} isAriaDisabled onClick={() => undefined} />
        </Tooltip>
    );
}
