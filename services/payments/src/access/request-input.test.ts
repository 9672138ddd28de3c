import { expect, it } from 'vitest'
import { invalidFields } from '../errors.ts'
import { mapInput, type RequestInput, valid, valuesOrNull } from './request-input.ts'

const refused: RequestInput<{ readonly amount: number }> = {
  verdict: 'refused',
  problem: {
    stage: 'validation',
    error: invalidFields([{ field: 'amount', message: 'is required', code: 'REQUIRED' }]),
  },
}

it('gives valid values another form, and leaves a refused request its problem', () => {
  const double = ({ amount }: { readonly amount: number }) => amount * 2
  expect([mapInput(valid({ amount: 1 }), double), mapInput(refused, double)]).toEqual([
    { verdict: 'valid', values: 2 },
    refused,
  ])
})

it('has the values of a valid request for a statement, and null for a refused one', () => {
  expect([valuesOrNull(valid({ amount: 1 })), valuesOrNull(refused)]).toEqual([{ amount: 1 }, null])
})
