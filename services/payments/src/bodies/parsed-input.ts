import { z } from 'zod'
import { type FieldError, toFieldErrors } from './field-error.ts'
import { type Encoding, readInput } from './read-input.ts'

/** Values as they were written, on their way to the schema of their route. */
export class ParsedInput {
  readonly encoding: Encoding
  readonly value: object

  constructor(encoding: Encoding, value: object) {
    this.encoding = encoding
    this.value = value
  }
}

/** Values that a schema refused. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
  readonly fields: readonly FieldError[]
  /** Typed as far as they fit. */
  readonly input: unknown

  constructor(fields: readonly FieldError[], input: unknown) {
    super('invalid input')
    this.fields = fields
    this.input = input
  }
}

/** What a validator answers: the values of the schema's output type, or what is wrong with them. */
export type Validated = { readonly value: unknown } | { readonly error: InvalidInput }

/** Validates the body, query or path parameters of a request. What has no body is an empty object. */
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
  // Path parameters are texts: an empty one is not absent, it names nothing.
  return typeof data === 'object' && data !== null ? data : readInput(schema, {}, 'json')
}
