/** One value of a row; numbers and dates are texts already. */
type Cell = { readonly text: string } | string

/**
 * Rows as RFC 4180 writes them, in UTF-8. A cell that is marked as free text and would be taken for a formula by a
 * spreadsheet begins with an apostrophe (reference: Statements and documents).
 */
export function writeCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(writeCell).join(',')}\r\n`).join('')
}

function writeCell(cell: Cell): string {
  const text = typeof cell === 'string' ? cell : cell.text.replace(/^[=+\-@\t\r]/, "'$&")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
