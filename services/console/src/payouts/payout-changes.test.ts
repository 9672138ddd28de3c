import { expect, it } from 'vitest'
import { allPayoutsChanges } from './payout-changes.ts'

it.each([
  ['that its files are made', { batch: { id: 'b' }, files: [], waiting: 0 }, 'The files for the bank are made'],
  [
    'how many payouts are left for the next batch',
    { batch: { id: 'b' }, files: [], waiting: 12_345 },
    'The files for the bank are made, and 12,345 payouts still wait: make files again',
  ],
  ['that no payout can go', { batch: null, files: [], waiting: 0 }, 'No payout can go to the bank'],
])('an export says %s', (_what, answer, toast) => {
  const done = allPayoutsChanges.changes.find(({ name }) => name === 'export')?.done
  expect(typeof done === 'function' && done(undefined, {}, answer)).toBe(toast)
})
