import { printable, printableJson } from '../lifecycle/printable.ts'
import { printTable, type Terminal } from './table.ts'

/** How a command prints its answer: for people, or as one JSON document on one line for programs. */
export type AnswerFormat = 'json' | 'text'

/** The answer of a command: a list, an object, or a text that is printed as it is. */
export type Answer = object | string

/**
 * The lines that print an answer: JSON, or for people a table for a list, and for an object one line for each member, followed by
 * a table for each member that is a list of objects. Bigints are printed as numbers. Stored values may come from strangers, so
 * control characters are escaped.
 * @param terminal what the lines are for, undefined for a file or a pipe
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

/** `createdAt` and `created_at` become `created at`. */
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
