import { type ZodType, z } from 'zod'
import { VALUE_TEXTS } from '../error-texts.ts'

interface Bounds {
  readonly min?: number
  readonly max?: number
}

const LIST_ITEMS_MAX = 1_000

const booleans: ReadonlyMap<string, boolean> = new Map([
  // An empty string stands for a bare name in a query, as in `?active`. It is also `true` in a form and in JSON.
  ...['', 'true', '1', 'yes', 'on', 't', 'y'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off', 'f', 'n'].map((word) => [word, false] as const),
])

// Every check sets `abort`, because only such an issue stops the validation of a long array (`bind-declaration.ts`).

/** A schema for a safe integer: a canonical decimal string or a JSON number. */
function int({ min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER }: Bounds = {}) {
  const error = numberError(VALUE_TEXTS.notInteger, { min, max })
  return z.preprocess(
    numberReader(/^-?(?:0|[1-9][0-9]*)$/),
    z.int({ error, abort: true }).min(min, { error, abort: true }).max(max, { error, abort: true }),
  )
}

/** A schema for a number: a string in the grammar of JSON numbers, or a JSON number. */
function number(bounds: Bounds = {}) {
  const error = numberError(VALUE_TEXTS.notNumber, bounds)
  const any = z.number({ error })
  const bounded = bounds.min === undefined ? any : any.min(bounds.min, { error, abort: true })
  const schema = bounds.max === undefined ? bounded : bounded.max(bounds.max, { error, abort: true })
  return z.preprocess(numberReader(/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/), schema)
}

/** A schema for a boolean: true/1/yes/on/t/y or a bare name, false/0/no/off/f/n, in any case, or a JSON boolean. */
function bool() {
  const read = (value: unknown): unknown =>
    typeof value === 'string' ? (booleans.get(value.toLowerCase()) ?? value) : value
  return z.preprocess(read, z.boolean({ error: VALUE_TEXTS.notBoolean }))
}

/**
 * A schema for a list of at most 1,000 items: repeated keys, a JSON array and, unless `split` is `false`, strings with commas. A
 * single value becomes a list of one item, even if it is a file or a JSON object.
 */
function list<T extends ZodType>(item: T, { split = true }: { readonly split?: boolean } = {}) {
  const read = (value: unknown): unknown => {
    // Return a missing value unchanged, so that Zod reports it as required.
    if (value === undefined || value === null) return value
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    return split
      ? values.flatMap((each) => (typeof each === 'string' ? each.split(',', LIST_ITEMS_MAX + 1) : [each]))
      : values
  }
  return z.preprocess(read, z.array(item).max(LIST_ITEMS_MAX, VALUE_TEXTS.tooManyItems({ max: LIST_ITEMS_MAX })))
}

/** A schema for an RFC 3339 time with an offset, or a date, which means midnight UTC. */
function date() {
  const error = VALUE_TEXTS.notDate
  const read = (value: unknown): unknown => (typeof value === 'string' ? value.toUpperCase() : value)
  const text = z.union([z.iso.date(), z.iso.datetime({ offset: true })], { error })
  return z
    .preprocess(
      read,
      text.transform((each) => new Date(each)),
    )
    .meta({ anyOf: ['date', 'date-time'].map((format) => ({ type: 'string', format })) })
}

function uuid() {
  return z.guid({ error: VALUE_TEXTS.notUuid, abort: true })
}

function oneOf<const T extends readonly [string, ...string[]]>(...words: T) {
  return z.enum(words, { error: VALUE_TEXTS.notOneOf(words) })
}

/** Schemas for values that arrive as text (paths, queries, forms) or as JSON. */
export const p = { int, number, bool, list, date, uuid, oneOf } as const

function numberReader(grammar: RegExp): (value: unknown) => unknown {
  return (value) => (typeof value === 'string' && grammar.test(value) ? Number(value) : value)
}

function numberError(otherwise: string, { min, max }: Bounds) {
  return ({ code, input }: { readonly code: string; readonly input?: unknown }): string => {
    if (input === undefined) return VALUE_TEXTS.required
    if (code === 'too_small') return VALUE_TEXTS.tooSmall({ limit: min })
    return code === 'too_big' ? VALUE_TEXTS.tooBig({ limit: max }) : otherwise
  }
}
