import { expect, it } from 'vitest'
import { allPayoutsChanges } from './payout-changes.ts'

const exporting = allPayoutsChanges.changes.find(({ name }) => name === 'export')

it.each([
  ['that its files are made', { batch: { id: 'b' }, files: [], waiting: 0 }, 'The files for the bank are made'],
  [
    'how many payouts are left for the next batch',
    { batch: { id: 'b' }, files: [], waiting: 12_345 },
    'The files for the bank are made, and 12,345 payouts still wait: make files again',
  ],
  ['that no payout can go', { batch: null, files: [], waiting: 0 }, 'No payout can go to the bank'],
])('an export says %s', (_what, answer, toast) => {
  expect(typeof exporting?.done === 'function' && exporting.done(undefined, {}, answer)).toBe(toast)
  expect(exporting?.shows?.(undefined, answer)).toBeUndefined()
})

it('an export shows all payouts that are held back on a page, whatever their merchants are called', () => {
  const held = Array.from({ length: 7 }, (_, n) => ({
    payoutId: `p${n}`,
    merchantName: n === 0 ? null : '<\u85cf>'.repeat(250),
    reason: 'the name has no letter that banks read',
  }))
  const page = exporting?.shows?.(undefined, { batch: null, files: [], waiting: 0, held })?.html
  const items = held.map(({ payoutId, reason }, n) => {
    const merchant = n === 0 ? '' : ` of ${'&lt;\u85cf&gt;'.repeat(250)}`
    return `<li><a href="/payouts/${payoutId}">Payout ${payoutId}</a>${merchant}: ${reason}</li>`
  })
  expect(page).toBe(
    `<p>No payout can go to the bank.</p><p>The bank would refuse these payouts, so they are held back and still wait:</p><ul>${items.join('')}</ul>`,
  )
})
