import { expect, it } from 'vitest'
import { keyRefusals } from './key-refusals.ts'
import { problemsOf } from './shop-tree.ts'

const PATH = 'services/auth/src/routes/carts.test.ts'

it.each([
  ["refusedField('Idempotency-Key', 'was used', 'MISMATCH')"],
  ["refusedBody(422, 'VERIFICATION_ERROR', 'This Idempotency-Key was used for another request.')"],
  ["[400, [{ field: 'Idempotency-Key', message: 'was used', code: 'MISMATCH' }]]"],
])('refuses %s in a test of a success', async (refusal) => {
  const text = `it('201: repeats', async () => {\n  expect(await send()).toEqual(${refusal})\n})\n`
  expect(await problemsOf(keyRefusals, { [PATH]: text })).toEqual([
    `${PATH}:2 a test of a success compares the refusal of an Idempotency-Key: give the refusal its own test`,
  ])
})

it.each([
  ["it('422: refuses a key', () => { expect(a).toEqual(refusedBody(422, 'X', 'This Idempotency-Key was used.')) })"],
  ["it('201: repeats', () => { expect(a).toEqual(refusedField('amount', 'is too high', 'RANGE')) })"],
  ["it('201: repeats', () => { send({ 'Idempotency-Key': 'k' }) })"],
])('allows %s', async (text) => {
  expect(await problemsOf(keyRefusals, { [PATH]: text })).toEqual([])
})
