import { expect, it } from 'vitest'
import { z } from 'zod'
import { InvalidInput, ParsedInput, validateInput } from './parsed-input.ts'

const Schema = z
  .object({ first: z.string().optional(), second: z.int(), third: z.object({ inner: z.int() }) })
  .refine(({ first }) => first !== 'x', {
    path: ['first'],
    error: 'cannot be x',
    params: { code: 'MISMATCH' },
    when: () => true,
  })

it('validateInput: names what is wrong in the order of the body, whatever judged it', () => {
  const validated = validateInput(Schema, new ParsedInput('json', { third: {}, first: 'x' }))
  const error = 'error' in validated ? validated.error : undefined
  expect(error).toBeInstanceOf(InvalidInput)
  expect(error?.fields).toEqual([
    { field: 'first', message: 'cannot be x', code: 'MISMATCH' },
    { field: 'second', message: 'is required', code: 'REQUIRED' },
    { field: 'third.inner', message: 'is required', code: 'REQUIRED' },
  ])
})

it('validateInput: tells the bound of the field, and which members are unknown, but nothing that may be a card number', () => {
  const strict = () => z.unknown().pipe(z.strictObject({}))
  const Bounded = z.object({ amount: z.int().max(999), test: strict(), more: strict() })
  const given = { amount: 1e30, test: { colour: 1, other_one: 2 }, more: { '4111111111111111': 1 } }
  const validated = validateInput(Bounded, new ParsedInput('json', given))
  expect('error' in validated ? validated.error.fields : []).toEqual([
    { field: 'amount', message: 'must be at most 999', code: 'RANGE' },
    { field: 'test', message: 'has no member colour, other_one', code: 'FORMAT' },
    { field: 'more', message: 'has a member that is unknown', code: 'FORMAT' },
  ])
})

it('validateInput: calls an object of any members an object', () => {
  const validated = validateInput(z.object({ custom: z.record(z.string(), z.unknown()) }), { custom: 'x' })
  expect('error' in validated ? validated.error.fields : []).toEqual([
    { field: 'custom', message: 'must be an object', code: 'TYPE' },
  ])
})
