import { withoutFormula, writeCsvCell } from '@trestle/common/documents/csv-cell.ts'

/** A value of a row. Numbers and dates are already text. `{ text }` contains free text. */
type Cell = { readonly text: string } | string

/**
 * Writes rows as CSV (RFC 4180) in UTF-8. Free text that a spreadsheet would run as a formula gets a leading apostrophe
 * (reference: Statements and documents).
 */
export function writeCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(writeCell).join(',')}\r\n`).join('')
}

function writeCell(cell: Cell): string {
  return writeCsvCell(typeof cell === 'string' ? cell : withoutFormula(cell.text))
}
