import cliTruncate from 'cli-truncate'
import stringWidth from 'string-width'
import { printable, printableJson } from '../lifecycle/printable.ts'

export interface Terminal {
  /** The number of characters that fit on a line. */
  readonly columns: number
  /** Whether headings are printed in bold. */
  readonly hasColors: boolean
}

interface Table {
  readonly head?: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const GAP = '  '
/** The minimum width of a column. The table keeps it even if the table is then wider than the terminal. */
const WIDTH_MIN = 8
/** Columns wider than this are narrowed first. */
const WIDTH_COMFORTABLE = 24
const COLUMNS_OF_UNKNOWN_TERMINAL = 80

/** The terminal of an output. It is `undefined` for a file or a pipe, whose output is neither truncated nor bold. */
export function terminalOf({ isTTY, columns, hasColors }: NodeJS.WriteStream): Terminal | undefined {
  if (!isTTY) return undefined
  // `hasColors` respects NO_COLOR, FORCE_COLOR and TERM.
  return { columns: columns || COLUMNS_OF_UNKNOWN_TERMINAL, hasColors: hasColors() }
}

/**
 * Returns the lines of a table, with two spaces between columns. On a terminal, a value that does not fit ends with an ellipsis.
 * The first column is never truncated, because commands take its values as arguments.
 */
export function printTable({ head, rows }: Table, terminal?: Terminal): readonly string[] {
  const all = head ? [head, ...rows] : rows
  const natural = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => stringWidth(row[column] ?? ''))))
  const widths = terminal ? fit(natural, terminal.columns) : natural
  const lines = all.map((row) => printRow(row, widths))
  const isBold = head !== undefined && terminal?.hasColors === true
  return lines.map((line, index) => (isBold && index === 0 ? `\u001b[1m${line}\u001b[22m` : line))
}

function printRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((text, column) => {
    const width = widths[column] ?? 0
    const shown = stringWidth(text) > width ? cliTruncate(text, width) : text
    return shown + ' '.repeat(Math.max(0, width - stringWidth(shown)))
  })
  return cells.join(GAP).trimEnd()
}

/**
 * Narrows the columns after the first until a line fits. First narrows the widest columns to a comfortable width. Then narrows
 * one column after the other from the right, because columns on the left matter most.
 */
function fit(natural: readonly number[], columns: number): readonly number[] {
  const [first = 0, ...others] = natural
  const room = columns - first - others.length * GAP.length
  let limit = Math.max(WIDTH_COMFORTABLE, ...others)
  while (limit > WIDTH_COMFORTABLE && sumOf(others.map((width) => Math.min(width, limit))) > room) limit -= 1
  const widths = others.map((width) => Math.min(width, limit))
  for (let column = widths.length - 1; column >= 0; column -= 1) {
    const width = widths[column] ?? 0
    const excess = Math.max(0, sumOf(widths) - room)
    widths[column] = Math.max(Math.min(width, WIDTH_MIN), width - excess)
  }
  return [first, ...widths]
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0)
}

/** The output format of a command: text for people, or one JSON document on one line for programs. */
export type AnswerFormat = 'json' | 'text'

/** The answer of a command: a list, an object, or a text to print as it is. */
export type Answer = object | string

/**
 * Returns the lines to print for an answer. In the format `text`, a list becomes a table. An object becomes one line for each
 * member, followed by a table for each member that is a list of objects. Bigints become numbers. Control characters are escaped,
 * because stored values may come from untrusted users.
 * @param terminal the terminal, or `undefined` for a file or a pipe
 */
export function printAnswer(answer: Answer, format: AnswerFormat, terminal?: Terminal): readonly string[] {
  if (typeof answer === 'string') return [printable(answer)]
  if (format === 'json') return [printableJson(answer, toNumber)]
  return Array.isArray(answer) ? printList(answer.filter(isObject), terminal) : printObject(answer, terminal)
}

/** The columns are the members of all rows, in the order of their first appearance. */
function printList(rows: readonly object[], terminal: Terminal | undefined): readonly string[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  if (names.length === 0) return ['nothing']
  const cells = rows.map((row) => names.map((name) => toText(Reflect.get(row, name))))
  return printTable({ head: names.map((name) => toWords(name).toUpperCase()), rows: cells }, terminal)
}

function printObject(answer: object, terminal: Terminal | undefined): readonly string[] {
  const members = Object.entries(answer)
  const plain = members.filter(([, value]) => !isListOfObjects(value))
  const lists = members.flatMap(([name, value]) =>
    isListOfObjects(value) ? ['', `${toWords(name)}:`, ...printList(value, terminal)] : [],
  )
  return [...printTable({ rows: plain.map(([name, value]) => [toWords(name), toText(value)]) }), ...lists]
}

/** Converts `createdAt` and `created_at` to `created at`. */
function toWords(name: string): string {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
}

function toText(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value) && value.length === 0) return '-'
  return typeof value === 'object' ? printableJson(value, toNumber) : printable(String(value))
}

function toNumber(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function isListOfObjects(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
