/** The characters that begin a formula, also in full width. */
const FORMULA = '[=+\\-@＝＋－＠]'

/** The beginning of a text that a spreadsheet computes, or skips in front of a formula. */
const AT_BEGINNING = new RegExp(`^(?:${FORMULA}|[\\t\\r\\n])`)

/**
 * A formula behind what may begin a cell. A spreadsheet separates by semicolons where its country writes a
 * comma in numbers, or by tabs, and then no quote of RFC 4180 keeps a cell together.
 */
const BEHIND_SEPARATOR = new RegExp(`([;\\t\\r\\n]"*)(?=${FORMULA})`, 'g')

/** An untrusted text as the cell of a CSV file, with an apostrophe before each formula that a spreadsheet would compute. */
export function withoutFormula(text: string): string {
  return text.replace(BEHIND_SEPARATOR, "$1'").replace(AT_BEGINNING, "'$&")
}

/** Writes a cell as RFC 4180 does. */
export function writeCsvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
