/** A row as RFC 4180 writes it. */
export function writeCsvRow(cells: readonly string[]): string {
  return `${cells.map(writeCell).join(',')}\r\n`
}

function writeCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** What begins a formula, also full-width, and what spreadsheets skip before it. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/

/** The text so that no spreadsheet takes it for a formula. It is then another text. */
export function withoutFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}
