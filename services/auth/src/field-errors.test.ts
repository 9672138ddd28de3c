import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { FIELD_TEXTS, fieldText } from './field-errors.ts'

/** Returns the text for a value that a schema refuses. */
function refusalOf(schema: z.ZodType, value: unknown): string {
  return fieldText(schema.safeParse(value).error?.issues[0])
}

describe('fieldText', () => {
  it.each([
    ['a number for a string', z.string(), 5, 'must be a string'],
    ['a string for a number', z.number(), 'x', 'must be a number'],
    ['a fraction for an integer', z.int(), 1.5, 'must be an integer'],
    ['a string for a boolean', z.boolean(), 'no', 'must be a boolean'],
    ['a list for an object', z.object({}), [], 'must be an object'],
    ['a list for a record', z.record(z.string(), z.unknown()), [], 'must be an object'],
    ['a string for a list', z.array(z.string()), 'x', 'must be a list'],
    ['a short string', z.string().min(2), 'x', 'must be at least 2 characters'],
    ['a long string', z.string().max(2), 'xyz', 'must be at most 2 characters'],
    ['a long list', z.array(z.string()).max(1), ['x', 'y'], 'must be at most 1 entries'],
    ['a large number', z.number().max(2), 3, 'must be at most 2'],
    ['no UUID', z.guid(), 'x', 'must be a UUID'],
    ['another format', z.email(), 'x', 'is not valid'],
    ['another word', z.enum(['a', 'b']), 'c', 'must be one of a, b'],
    ['another key', z.partialRecord(z.enum(['a']), z.string()), { b: '' }, 'has a name that is not known'],
    ['none of two forms', z.union([z.string(), z.number()]), true, 'is not valid'],
    ['a text of the catalogue', z.string().refine(() => false, { error: FIELD_TEXTS.time }), 'x', FIELD_TEXTS.time],
    ['a text of elsewhere', z.string().refine(() => false, { error: 'elsewhere' }), 'x', 'is not valid'],
  ])('names the problem of %s', (_case, schema, value, text) => {
    expect(refusalOf(schema, value)).toBe(text)
  })

  it('says that the value is not valid where zod names no issue', () => {
    expect(fieldText(undefined)).toBe('is not valid')
  })
})
