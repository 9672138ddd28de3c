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
