import { printable, printableJson } from '@trestle/common/lifecycle/printable.ts'

/**
 * The lines that print an answer: JSON, or for people one line for each member, and a table for a list. Bigints are
 * printed as numbers. Stored values may come from strangers, so control characters are escaped.
 */
export function printAnswer(answer: object, format: 'json' | 'text'): readonly string[] {
  if (format === 'json') return [printableJson(answer, toNumber)]
  if (Array.isArray(answer)) return printTable(answer.filter(isObject))
  return printColumns(Object.entries(answer).map(([name, value]) => [name, toText(value)]))
}

/** A table. Its columns are the members of all rows, in the order of their first appearance. */
function printTable(rows: readonly object[]): readonly string[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  if (names.length === 0) return ['nothing']
  return printColumns([names, ...rows.map((row) => names.map((name) => toText(Reflect.get(row, name))))])
}

function printColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return '-'
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? printableJson(value, toNumber) : printable(String(value))
}

function toNumber(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
