/** The characters that begin a formula, including their full-width forms. */
const FORMULA = '[=+\\-@＝＋－＠]'

/** A beginning that makes a text a formula, or whitespace that spreadsheets skip before a formula. */
const AT_BEGINNING = new RegExp(`^(?:${FORMULA}|[\\t\\r\\n])`)

/**
 * A formula after a possible cell separator. In countries with a decimal comma, spreadsheets separate cells by semicolons, and
 * others by tabs. Then the quotes of RFC 4180 do not keep a cell together.
 */
const BEHIND_SEPARATOR = new RegExp(`([;\\t\\r\\n]"*)(?=${FORMULA})`, 'g')

/** Returns an untrusted text for a CSV cell. Adds an apostrophe before each formula that a spreadsheet would evaluate. */
export function withoutFormula(text: string): string {
  return text.replace(BEHIND_SEPARATOR, "$1'").replace(AT_BEGINNING, "'$&")
}

/** Writes a cell in the format of RFC 4180. */
export function writeCsvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
