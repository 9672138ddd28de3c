import { expect, it } from 'vitest'
import { finishOnceBack } from './finish-once-back.ts'

const away = new Error('away')
const stillAway = new Error('still away')
const moving = new Error('moving')
const refused = new Error('a defect')

it.each([
  { why: 'at once', ends: ['done'], result: 'done', waits: 0 },
  { why: 'that was settled by another', ends: ['settled'], result: 'settled', waits: 0 },
  { why: 'once the database is back', ends: [away, stillAway, 'done'], result: 'done', waits: 2 },
  { why: 'at the last try', ends: [...Array.from({ length: 80 }, () => away), 'done'], result: 'done', waits: 80 },
  {
    why: 'once rows have moved, however long that takes',
    ends: [away, ...Array.from({ length: 200 }, () => moving), stillAway, 'done'],
    result: 'done',
    waits: 202,
  },
  { why: 'never', ends: [away, ...Array.from({ length: 80 }, () => stillAway)], result: away, waits: 80 },
  { why: 'that a lost try may have settled', ends: [away, 'settled'], result: away, waits: 1 },
  { why: 'with a defect', ends: [refused], result: refused, waits: 0 },
  { why: 'with a defect at a later try', ends: [away, refused], result: refused, waits: 1 },
])('finishes an attempt $why', async ({ ends, result, waits }) => {
  const waited: number[] = []
  const left = [...ends]
  const ending = finishOnceBack({
    finish: async () => {
      const end = left.shift()
      if (end instanceof Error) throw end
      return end
    },
    isSettled: (finished) => finished === 'settled',
    isAway: (error) => error !== refused,
    isMoving: (error) => error === moving,
    wait: async (ms) => void waited.push(ms),
  })
  expect(await ending.catch((error: unknown) => error)).toBe(result)
  expect([waited, left]).toEqual([Array.from({ length: waits }, () => 500), []])
})
