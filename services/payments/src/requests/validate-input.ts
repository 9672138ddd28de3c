import { z } from 'zod'
import type { FieldError } from '../errors.ts'
import { toFieldErrors } from './field-error.ts'

/** Fields for which JSON `false` means absent. The official Node client sends `false` for `cardId`. */
export const falseIsAbsent = z.registry<object>()

/** The encoding of request values. JSON has types, but a form or a query string has only texts. */
export type Encoding = 'json' | 'form' | 'query'

/** The parsed values of a request before the schema of the route validates them. */
export class ParsedInput {
  readonly encoding: Encoding
  readonly value: object

  constructor(encoding: Encoding, value: object) {
    this.encoding = encoding
    this.value = value
  }
}

/** Thrown for values that a schema refused, with one error for each field. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
  readonly fields: readonly FieldError[]
  /** The values, converted to the types of the schema as far as they fit. */
  readonly values: unknown

  constructor(fields: readonly FieldError[], values: unknown) {
    super('invalid input')
    this.fields = fields
    this.values = values
  }
}

/** The validated values, or the error. */
export type Validated = { readonly value: unknown } | { readonly error: InvalidInput }

/** Validates the body, query or path parameters of a request. A missing body counts as an empty object. */
export function validateInput(schema: z.ZodType, data: unknown): Validated {
  const input = inputOf(schema, data)
  const result = schema.safeParse(input)
  return result.success
    ? { value: result.data }
    : { error: new InvalidInput(toFieldErrors(result.error.issues, input, membersOf(schema)), input) }
}

function membersOf(schema: z.ZodType): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

function inputOf(schema: z.ZodType, data: unknown): unknown {
  if (data instanceof ParsedInput) return readInput(schema, data.value, data.encoding)
  // Path parameters are texts. An empty path parameter is not absent: it is a name that matches nothing.
  return typeof data === 'object' && data !== null ? data : readInput(schema, {}, 'json')
}

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
 * Prepares values for the schema. `null` and the empty text count as absent and are removed. If the schema accepts `null`, both
 * become `null` instead (reference: Absent values). A text of a form is converted to the type that the schema expects. A value
 * that does not fit stays unchanged, so that the schema refuses it.
 */
export function readInput(schema: z.core.$ZodType, value: unknown, encoding: Encoding): unknown {
  const def = definitionOf(schema)
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
  const fields: Record<string, unknown> = {}
  for (const [key, schema] of Object.entries(shape)) {
    const field: unknown = Object.hasOwn(values, key) ? Reflect.get(values, key) : undefined
    const value = isAbsent(schema, field) ? absentValue(schema, field) : field
    if (value === null) fields[key] = null
    else if (value !== undefined) fields[key] = readInput(schema, value, encoding)
  }
  return fields
}

function readArray(element: z.core.$ZodType, value: unknown, encoding: Encoding): unknown {
  const items = encoding === 'json' ? value : numbered(value)
  return Array.isArray(items) ? items.map((item) => readInput(element, item, encoding)) : value
}

/** Converts `a[0]=…&a[1]=…` to an array if the keys are exactly 0…n−1. */
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

function isAbsent(schema: z.core.$ZodType, field: unknown): boolean {
  return field === undefined || field === null || field === '' || (field === false && falseIsAbsent.has(schema))
}

/** An absent object becomes empty, so that errors name its required fields. `null` stays if it means removal. */
function absentValue(schema: z.core.$ZodType, field: unknown): null | object | undefined {
  const def = definitionOf(schema)
  if (def.type === 'object') return {}
  return field !== undefined && acceptsNull(schema) ? null : undefined
}

function acceptsNull(schema: z.core.$ZodType): boolean {
  const def = definitionOf(schema)
  if (def.type === 'nullable') return true
  return def.type === 'optional' || def.type === 'default' ? acceptsNull(def.innerType) : false
}

/** The definition of a schema. zod types parts as the base class, but each is a member of `$ZodTypes`. */
function definitionOf(schema: z.core.$ZodType) {
  return (schema as z.core.$ZodTypes)._zod.def
}
