// SPDX-License-Identifier: Apache-2.0
/** A name with dots, `filesystem.allocation_group_size`, which breaks after a dot where its column is narrow. */
import { Fragment, type JSX } from "react";

export function Key({ name }: { name: string }): JSX.Element {
    return <code>{name.split(/(?<=\.)/).map((part, index) => <Fragment key={index}>{index > 0 && <wbr />}{part}</Fragment>)}</code>;
}
