import { type CommandInput, numberOption } from '@trestle/common/commands/operator-command.ts'
import { Option } from 'commander'
import type { z } from 'zod'
import { toFieldErrors } from '../requests/field-error.ts'

const ROWS_MAX = 1_000
const ROWS = 20

export const LIMIT_OPTION = numberOption('--limit <rows>', `how many rows, 1 to ${ROWS_MAX}`, {
  max: ROWS_MAX,
  usual: ROWS,
})

/** The options of a command that lists pages. Newest rows come first. */
export const PAGE_OPTIONS: readonly Option[] = [
  LIMIT_OPTION,
  new Option('--before <id>', 'only rows before this id in the list, for the next page'),
]

export const TEST_OPTIONS: readonly Option[] = [
  new Option('--test', 'only test merchants').conflicts('live'),
  new Option('--live', 'only live merchants'),
]

/** Reads the number of rows, and the id that precedes the page. @throws Error if the id is malformed */
export function readPage({ limit, before }: CommandInput['options']): { limit: number; before: string | undefined } {
  return { limit: Number(limit), before: before === undefined ? undefined : readId('--before', before) }
}

/** Reads `TEST_OPTIONS`. Returns `undefined` if both test and live merchants are chosen. */
export function readTest({ test, live }: CommandInput['options']): boolean | undefined {
  if (test === true) return true
  return live === true ? false : undefined
}

/** Reads an id in lower case. @throws Error with the name of the option if the text is not an id */
export function readId(name: string, value: unknown): string {
  const id = String(value).toLowerCase()
  if (!/^[0-9a-f]{24}$/.test(id)) throw new Error(`${name} must be 24 hexadecimal digits`)
  return id
}

/** Returns the text of an option. Returns `undefined` if the option is not given. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/**
 * Validates values by the schema of the API request with the same effect.
 * @param names the option of each field, by its path: `{ 'company.country': '--country' }`
 * @throws Error naming the option of the first field that the schema refuses
 */
export function readValues<Schema extends z.ZodType>(
  schema: Schema,
  values: object,
  names: Readonly<Record<string, string>>,
): z.output<Schema> {
  const result = schema.safeParse(values)
  if (result.success) return result.data
  const members = Object.keys(names).map((path) => path.split('.')[0] ?? path)
  const [{ field, message } = { field: '', message: 'is not valid' }] = toFieldErrors(
    result.error.issues,
    values,
    members,
  )
  throw new Error(`${names[field] ?? field} ${message}`)
}
