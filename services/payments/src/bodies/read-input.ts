import { z } from 'zod'

/** Members for which JSON may say `false` where it means nothing: the official Node client does so for `cardId`. */
export const falseIsAbsent = z.registry<object>()

/** How a request's values were written: JSON has types; a form and a query string have texts only. */
export type Encoding = 'json' | 'form' | 'query'

const INTEGER = /^(?:0|-?[1-9]\d{0,15})$/
const FORM_BOOLEANS: ReadonlyMap<unknown, boolean> = new Map([
  ['yes', true],
  ['y', true],
  ['no', false],
  ['n', false],
])
const QUERY_BOOLEANS: ReadonlyMap<unknown, boolean> = new Map([
  ...FORM_BOOLEANS,
  ['1', true],
  ['true', true],
  ['0', false],
  ['false', false],
])

/**
 * Prepares parsed values for validation by `schema`: leaves out what counts as absent (null and the empty text), and gives
 * the texts of a form the type that the schema expects at their place. What does not fit is left as it is, for the schema to
 * refuse. A member whose schema accepts null keeps both as null (reference: Absent values).
 */
export function readInput(schema: z.core.$ZodType, value: unknown, encoding: Encoding): unknown {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
      return readInput(def.innerType, value, encoding)
    case 'pipe':
      return readInput(def.in, value, encoding)
    case 'object':
      return readObject(def.shape, value, encoding)
    case 'array':
      return readArray(def.element, value, encoding)
    case 'union':
      return readUnion(def.options, value, encoding)
    default:
      return encoding === 'json' ? value : typeText(def.type, value, encoding)
  }
}

function readObject(shape: Readonly<Record<string, z.core.$ZodType>>, values: unknown, encoding: Encoding): unknown {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return values
  const members: Record<string, unknown> = {}
  for (const [key, schema] of Object.entries(shape)) {
    const member: unknown = Object.hasOwn(values, key) ? Reflect.get(values, key) : undefined
    const value = isAbsent(schema, member) ? absentValue(schema, member) : member
    if (value === null) members[key] = null
    else if (value !== undefined) members[key] = readInput(schema, value, encoding)
  }
  return members
}

function readArray(element: z.core.$ZodType, value: unknown, encoding: Encoding): unknown {
  const items = encoding === 'json' ? value : numbered(value)
  return Array.isArray(items) ? items.map((item) => readInput(element, item, encoding)) : value
}

/** `a[0]=…&a[1]=…` as an array, when the keys are exactly 0…n−1. */
function numbered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const size = Object.keys(value).length
  const items = Array.from({ length: size }, (_, index): unknown => Reflect.get(value, String(index)))
  return items.includes(undefined) ? value : items
}

function readUnion(options: readonly z.core.$ZodType[], value: unknown, encoding: Encoding): unknown {
  for (const option of options) {
    const read = readInput(option, value, encoding)
    if (read !== value) return read
  }
  return value
}

function typeText(type: string, value: unknown, encoding: 'form' | 'query'): unknown {
  if (type === 'number' && typeof value === 'string' && INTEGER.test(value)) return Number(value)
  if (type === 'boolean') return (encoding === 'query' ? QUERY_BOOLEANS : FORM_BOOLEANS).get(value) ?? value
  return value
}

function isAbsent(schema: z.core.$ZodType, member: unknown): boolean {
  return member === undefined || member === null || member === '' || (member === false && falseIsAbsent.has(schema))
}

/** What stands for an absent member: an empty object, so that its required members are named; null where null means removal. */
function absentValue(schema: z.core.$ZodType, member: unknown): null | object | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'object') return {}
  return member !== undefined && acceptsNull(schema) ? null : undefined
}

function acceptsNull(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'nullable') return true
  return def.type === 'optional' || def.type === 'default' ? acceptsNull(def.innerType) : false
}
