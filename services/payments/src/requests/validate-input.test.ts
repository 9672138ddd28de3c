import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Encoding, falseIsAbsent, InvalidInput, ParsedInput, readInput, validateInput } from './validate-input.ts'

const Schema = z.object({
  amount: z.int().optional(),
  test: z.boolean().default(false),
  name: z.string().nullable().optional(),
  tags: z.array(z.int()).optional(),
  fixed: z.boolean().or(z.unknown()).optional(),
  company: z.object({ number: z.string().optional() }).optional(),
  custom: z.record(z.string(), z.unknown()).optional(),
})

describe('readInput', () => {
  it.each<[Encoding, object, object]>([
    ['form', { amount: '995' }, { amount: 995 }],
    ['form', { amount: '-1' }, { amount: -1 }],
    ['form', { amount: '0' }, { amount: 0 }],
    ['form', { amount: '9999999999999999' }, { amount: Number('9999999999999999') }],
    ...['9.95', '1e3', '+5', '0995', ' 5', '-0', '12345678901234567'].map((text): [Encoding, object, object] => [
      'form',
      { amount: text },
      { amount: text },
    ]),
    ['form', { amount: '' }, {}],
    ['form', { test: 'yes', fixed: 'n' }, { test: true, fixed: false }],
    ['form', { test: 'y' }, { test: true }],
    ['form', { test: 'true' }, { test: 'true' }],
    ['form', { test: '1' }, { test: '1' }],
    ['query', { test: '1' }, { test: true }],
    ['query', { test: 'false' }, { test: false }],
    ['query', { test: 'Yes' }, { test: 'Yes' }],
    ['form', { tags: { 1: '6', 0: '5' } }, { tags: [5, 6] }],
    ['form', { tags: { 1: '6' } }, { tags: { 1: '6' } }],
    ['form', { tags: ['5'] }, { tags: [5] }],
    ['form', { company: { 0: 'x', number: '' } }, { company: {} }],
    ['form', { custom: { 0: 'yes', 1: '5', 2: '' } }, { custom: { 0: 'yes', 1: '5', 2: '' } }],
    ['form', { unknown: '1' }, {}],
    ['json', { amount: null, test: '', name: '' }, { name: null }],
    ['json', { name: null }, { name: null }],
    ['json', { amount: '995', test: 'yes', fixed: 'yes' }, { amount: '995', test: 'yes', fixed: 'yes' }],
    ['json', { custom: { a: null, b: '' } }, { custom: { a: null, b: '' } }],
  ])('reads %s %j as the input %j', (encoding, value, expected) => {
    expect(readInput(Schema, value, encoding)).toEqual(expected)
  })

  it('takes false as absent only for registered fields, and only in JSON', () => {
    const id = z.string().optional().register(falseIsAbsent, {})
    const schema = z.object({ cardId: id, test: z.boolean().optional() })
    expect(readInput(schema, { cardId: false, test: false }, 'json')).toEqual({ test: false })
    expect(readInput(schema, { cardId: 'no', test: 'no' }, 'form')).toEqual({ cardId: 'no', test: false })
  })

  it('makes an absent object an empty one, so that errors name its fields', () => {
    const schema = z.object({ company: z.object({ country: z.string() }), bank: z.object({}).optional() })
    for (const value of [{}, { company: null }, { company: '' }, { company: {} }]) {
      expect(readInput(schema, value, 'json')).toEqual({ company: {} })
    }
  })

  it.each([['x'], [['x']], [5], [true]])('leaves %j in place of an object, so that the schema refuses it', (value) => {
    expect(readInput(Schema, value, 'json')).toEqual(value)
  })

  it('reads the same values from a form as from the same body in JSON', () => {
    const body = fc.record(
      { amount: fc.integer(), test: fc.boolean(), tags: fc.array(fc.integer(), { minLength: 1, maxLength: 3 }) },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(body, ({ amount, test, tags }) => {
        const form = {
          ...(amount === undefined ? {} : { amount: String(amount) }),
          ...(test === undefined ? {} : { test: test ? 'yes' : 'no' }),
          ...(tags === undefined ? {} : { tags: tags.map(String) }),
        }
        expect(readInput(Schema, form, 'form')).toEqual(readInput(Schema, { amount, test, tags }, 'json'))
      }),
    )
  })
})

const Ordered = z
  .object({ first: z.string().optional(), second: z.int(), third: z.object({ inner: z.int() }) })
  .refine(({ first }) => first !== 'x', {
    path: ['first'],
    error: 'cannot be x',
    params: { code: 'MISMATCH' },
    when: () => true,
  })

it('validateInput: names errors in the order of the fields of the schema, whichever check found them', () => {
  const validated = validateInput(Ordered, new ParsedInput('json', { third: {}, first: 'x' }))
  const error = 'error' in validated ? validated.error : undefined
  expect(error).toBeInstanceOf(InvalidInput)
  expect(error?.fields).toEqual([
    { field: 'first', message: 'cannot be x', code: 'MISMATCH' },
    { field: 'second', message: 'is required', code: 'REQUIRED' },
    { field: 'third.inner', message: 'is required', code: 'REQUIRED' },
  ])
})

it('validateInput: names the bound of the field and unknown fields, but no name that may be a card number', () => {
  const strict = () => z.unknown().pipe(z.strictObject({}))
  const Bounded = z.object({ amount: z.int().max(999), test: strict(), more: strict() })
  const values = { amount: 1e30, test: { colour: 1, other_one: 2 }, more: { '4111111111111111': 1 } }
  const validated = validateInput(Bounded, new ParsedInput('json', values))
  expect('error' in validated ? validated.error.fields : []).toEqual([
    { field: 'amount', message: 'must be at most 999', code: 'RANGE' },
    { field: 'test', message: 'has no field colour, other_one', code: 'FORMAT' },
    { field: 'more', message: 'has a field that is unknown', code: 'FORMAT' },
  ])
})

it('validateInput: calls an object of any fields an object', () => {
  const validated = validateInput(z.object({ custom: z.record(z.string(), z.unknown()) }), { custom: 'x' })
  expect('error' in validated ? validated.error.fields : []).toEqual([
    { field: 'custom', message: 'must be an object', code: 'TYPE' },
  ])
})
