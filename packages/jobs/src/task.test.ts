import { describe, expect, it } from 'vitest'
import { RETRY_FOR_A_DAY } from './task.ts'

describe('RETRY_FOR_A_DAY', () => {
  it('tries for at least a day, and soon at first', () => {
    const { retryLimit, firstDelaySeconds, delaySecondsMax } = RETRY_FOR_A_DAY
    // The queue waits for one to two times the delay. The delay doubles up to its maximum.
    const shortest = Array.from({ length: retryLimit }, (_, retry) =>
      Math.min(delaySecondsMax, firstDelaySeconds * 2 ** retry),
    )
    expect(shortest[0]).toBe(5)
    expect(shortest.reduce((sum, seconds) => sum + seconds, 0)).toBeGreaterThan(86_400)
  })
})
