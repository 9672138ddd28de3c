import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CountSketch } from './memory-limiter.ts'

const PERIOD_MS = 60_000

describe('CountSketch', () => {
  it('never reads fewer uses than there were', () => {
    const uses = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 1, max: 30 })), {
      maxLength: 20,
    })
    fc.assert(
      fc.property(uses, (all) => {
        const sketch = new CountSketch(PERIOD_MS, 0)
        for (const [key, count] of all) sketch.add(key, count, 0)
        for (const key of ['a', 'b', 'c', 'd']) {
          const used = all.reduce((sum, [name, count]) => sum + (name === key ? count : 0), 0)
          expect(sketch.read(key, 0)).toBeGreaterThanOrEqual(used)
        }
      }),
      { numRuns: 20 },
    )
  })

  it('reads almost 0 for unused keys, even after a flood', () => {
    const sketch = new CountSketch(PERIOD_MS, 0)
    for (let count = 0; count < 100_000; count += 1) sketch.add(`flood ${count}`, 1, 0)
    const told = Array.from({ length: 1_000 }, (_, count) => sketch.read(`quiet ${count}`, 0))
    expect(told.filter((uses) => uses > 0).length).toBeLessThan(50)
  })

  it('forgets uses after two periods', () => {
    const sketch = new CountSketch(PERIOD_MS, 0)
    sketch.add('key', 3, 0)
    sketch.add('key', 2, PERIOD_MS)
    expect([
      sketch.read('key', PERIOD_MS),
      sketch.read('key', 2 * PERIOD_MS),
      sketch.read('key', 3 * PERIOD_MS),
    ]).toEqual([5, 2, 0])
  })
})
