// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX, type ReactNode } from "react";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table/dist/esm/components/Table/index.js";

export interface Column<Row> {
    title: string;
    cell: (row: Row) => ReactNode;
    /** Makes the column sortable. */
    sort?: (row: Row) => string | number;
    /** Figures stand at the end of their cell. */
    figures?: boolean;
    /** Cells that head their row. */
    heads?: boolean;
}

interface Order { column: number; direction: "asc" | "desc" }

function sorted<Row>(rows: readonly Row[], columns: Column<Row>[], order: Order | undefined): readonly Row[] {
    const by = order === undefined ? undefined : columns[order.column]?.sort;
    if (by === undefined || order === undefined) return rows;
    const sign = order.direction === "asc" ? 1 : -1;
    return [...rows].sort((a, b) => {
        const [x, y] = [by(a), by(b)];
        return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true }));
    });
}

/** Rows under named columns. A table without rows is never shown: the caller says what their absence means. */
export function DataTable<Row>({ label, columns, rows, rowKey, testId }: {
    label: string; columns: Column<Row>[]; rows: readonly Row[]; rowKey: (row: Row) => string; testId?: string;
}): JSX.Element {
    const [order, setOrder] = useState<Order>();
    const sort = (index: number) => columns[index]?.sort && {
        sort: {
            columnIndex: index,
            sortBy: order === undefined ? {} : { index: order.column, direction: order.direction },
            onSort: (_event: unknown, column: number, direction: "asc" | "desc") => setOrder({ column, direction }),
        },
    };
    return (
        <Table aria-label={label} variant="compact" data-testid={testId}>
            <Thead>
                <Tr>{columns.map((column, index) => (
                    <Th key={column.title} modifier="nowrap" className={column.figures ? "mr-figures" : ""} {...sort(index)}>{column.title}</Th>
                ))}</Tr>
            </Thead>
            <Tbody>
                {sorted(rows, columns, order).map((row) => (
                    <Tr key={rowKey(row)} data-row={rowKey(row)}>{columns.map((column) => column.heads
                        ? <Th key={column.title} scope="row" dataLabel={column.title}>{column.cell(row)}</Th>
                        : <Td key={column.title} dataLabel={column.title} className={column.figures ? "mr-figures" : ""}>{column.cell(row)}</Td>)}
                    </Tr>
                ))}
            </Tbody>
        </Table>
    );
}
