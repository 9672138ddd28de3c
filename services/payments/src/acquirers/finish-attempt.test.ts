import { NoConnectionError, RebalancingError } from '@trestle/database/unavailable.ts'
import { expect, it } from 'vitest'
import type { AuthorizationOutcome } from './acquirer.ts'
import { type AttemptColumns, finishAttempt } from './finish-attempt.ts'

const away = new NoConnectionError('away')
const stillAway = new NoConnectionError('still away')
const moving = new RebalancingError('moving')
const defect = new Error('a defect')
const approved: AuthorizationOutcome = { verdict: 'approved', ref: 'ref-1', networkRef: 'net-1' }

/** Finishes an attempt. Each element of `ends` is what one try throws (an error) or returns. */
async function finish(outcome: AuthorizationOutcome, ends: (Error | string | undefined)[]) {
  const [waits, columns]: [number[], AttemptColumns[]] = [[], []]
  const left = [...ends]
  const ending = finishAttempt({
    outcome,
    finish: async (written) => {
      columns.push(written)
      const end = left.shift()
      if (end instanceof Error) throw end
      return end
    },
    wait: async (ms) => void waits.push(ms),
  })
  const result = await ending.catch((error: unknown) => error)
  return { result, waits, columns, left }
}

const paid = { verdict: 'approved', transactionId: 'tx-1' }
const settled = { verdict: 'refused', statusCode: 'PAYMENT_METHOD_ERROR', failedId: undefined }

it.each([
  { why: 'at once', ends: ['tx-1'], result: paid, waits: 0 },
  { why: 'that a job has called unknown', ends: [undefined], result: settled, waits: 0 },
  { why: 'once the database is back', ends: [away, stillAway, 'tx-1'], result: paid, waits: 2 },
  { why: 'at the last try', ends: [...Array.from({ length: 80 }, () => away), 'tx-1'], result: paid, waits: 80 },
  {
    why: 'once rows have moved, however long that takes',
    ends: [away, ...Array.from({ length: 200 }, () => moving), stillAway, 'tx-1'],
    result: paid,
    waits: 202,
  },
  { why: 'never', ends: [away, ...Array.from({ length: 80 }, () => stillAway)], result: away, waits: 80 },
  { why: 'that a lost try may have settled', ends: [away, undefined], result: away, waits: 1 },
  { why: 'with a defect', ends: [defect], result: defect, waits: 0 },
  { why: 'with a defect at a later try', ends: [away, defect], result: defect, waits: 1 },
])('finishes an attempt $why', async ({ ends, result, waits }) => {
  const finished = await finish(approved, ends)
  if (result instanceof Error) expect(finished.result).toBe(result)
  else expect(finished.result).toEqual(result)
  expect([finished.waits, finished.left]).toEqual([Array.from({ length: waits }, () => 500), []])
})

it.each<[AuthorizationOutcome, AttemptColumns, object]>([
  [
    approved,
    { outcome: 'approved', statusCode: null, errorCode: null, acquirerRef: 'ref-1', networkRef: 'net-1' },
    paid,
  ],
  [
    { verdict: 'declined', statusCode: 'PAYMENT_INSUFFICIENT_FUNDS' },
    {
      outcome: 'declined',
      statusCode: 'PAYMENT_INSUFFICIENT_FUNDS',
      errorCode: 7,
      acquirerRef: null,
      networkRef: null,
    },
    { verdict: 'refused', statusCode: 'PAYMENT_INSUFFICIENT_FUNDS', failedId: 'tx-1' },
  ],
  [
    { verdict: 'unknown' },
    { outcome: 'unknown', statusCode: 'PAYMENT_METHOD_ERROR', errorCode: 12, acquirerRef: null, networkRef: null },
    { verdict: 'refused', statusCode: 'PAYMENT_METHOD_ERROR', failedId: 'tx-1' },
  ],
])('writes the columns of %j', async (outcome, columns, result) => {
  expect(await finish(outcome, ['tx-1'])).toEqual({ result, waits: [], columns: [columns], left: [] })
})
