import { expect, it } from 'vitest'
import { planPayout } from './payout-plan.model.ts'

const position = { balance: 1_000n, reserve: 0n, notYetDue: 0n, minimum: 100n, hasIban: true }
const skip = (reason: string) => ({ verdict: 'skip', reason })

it.each([
  [position, { verdict: 'pay', amount: 1_000n }],
  [
    { ...position, reserve: 300n, notYetDue: 600n },
    { verdict: 'pay', amount: 100n },
  ],
  [{ ...position, reserve: 300n, notYetDue: 601n }, skip('below_minimum')],
  [{ ...position, balance: 0n, minimum: 0n }, skip('below_minimum')],
  [
    { ...position, balance: 1n, minimum: 0n },
    { verdict: 'pay', amount: 1n },
  ],
  [{ ...position, reserve: 1_001n }, skip('negative')],
  [{ ...position, balance: -1n, hasIban: false }, skip('negative')],
  [{ ...position, balance: 99n, hasIban: false }, skip('below_minimum')],
  [{ ...position, hasIban: false }, skip('no_iban')],
])('plans for a merchant with %o', (balance, plan) => {
  expect(planPayout(balance)).toEqual(plan)
})
