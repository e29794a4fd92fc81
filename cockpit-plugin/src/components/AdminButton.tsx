// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Button, type ButtonProps } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Tooltip } from "@patternfly/react-core/dist/esm/components/Tooltip/index.js";
import { _ } from "../lib/i18n";
import { useAdmin } from "../lib/permission";

/** A button that changes something: without administrative access it stays in reach of the keyboard and says why. */
export function AdminButton(props: ButtonProps): JSX.Element {
    const admin = useAdmin();
    if (admin !== false) return <Button {...props} isDisabled={props.isDisabled === true || admin === null} />;
    return (
        <Tooltip content={_("Limited access: this action requires administrative access.")}>
            <Button {...props} isAriaDisabled onClick={() => undefined} />
        </Tooltip>
    );
}
