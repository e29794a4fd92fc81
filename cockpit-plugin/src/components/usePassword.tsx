// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { _ } from "../lib/i18n";
import { password as passwordRule } from "../types/rules";
import { TextField } from "./Field";

/** Two fields for one new password, and whether they can be sent. */
export function usePassword(help: string): { fields: JSX.Element; good: boolean; input: string } {
    const [first, setFirst] = useState("");
    const [second, setSecond] = useState("");
    const problem = first === "" ? undefined : passwordRule(first);
    const other = second !== "" && second !== first ? _("passwords do not match") : undefined;
    return {
        good: first !== "" && problem === undefined && first === second,
        input: `${first}\n`,
        fields: (
            <>
                <TextField id="password" type="password" required label={_("Password")} value={first} onChange={setFirst} problem={problem} help={help} />
                <TextField id="password-again" type="password" required label={_("Password again")} value={second} onChange={setSecond} problem={other} />
            </>
        ),
    };
}
