import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findCrowding } from './slow-clients.ts'

const owing = (name: string, client: string, bytes: number, sinceMs: number) => ({ name, client, bytes, sinceMs })

describe('findCrowding', () => {
  it('cuts no connection while there is room', () => {
    expect(findCrowding([owing('a', 'one', 60, 0), owing('b', 'two', 40, 0)], 100)).toEqual([])
  })

  it('cuts connections of the client with the most waiting bytes, the longest idle first', () => {
    const all = [
      owing('steady', 'honest', 30, 0),
      owing('newest', 'greedy', 40, 9),
      owing('oldest', 'greedy', 40, 1),
      owing('newer', 'greedy', 40, 5),
    ]
    expect(findCrowding(all, 100).map(({ name }) => name)).toEqual(['oldest', 'newer'])
    expect(findCrowding(all, 60).map(({ name }) => name)).toEqual(['oldest', 'newer', 'newest'])
  })

  it('never cuts the last connection, however much waits for it', () => {
    expect(findCrowding([owing('a', 'one', 900, 0)], 100)).toEqual([])
    expect(findCrowding([owing('a', 'one', 900, 0), owing('b', 'one', 900, 1)], 100).map(({ name }) => name)).toEqual([
      'a',
    ])
  })

  it('makes room, and cuts no client that has less waiting than another client keeps', () => {
    const connection = fc.record({
      client: fc.constantFrom('a', 'b', 'c', 'd'),
      bytes: fc.integer({ min: 1, max: 100 }),
      sinceMs: fc.integer({ min: 0, max: 9 }),
    })
    fc.assert(
      fc.property(fc.array(connection, { maxLength: 20 }), fc.integer({ min: 1, max: 500 }), (all, bytesMax) => {
        const cut = new Set(findCrowding(all, bytesMax))
        const left = all.filter((each) => !cut.has(each))
        const sum = (of: readonly { readonly bytes: number }[]) => of.reduce((total, { bytes }) => total + bytes, 0)
        expect(left.length <= 1 || sum(left) <= bytesMax).toBe(true)
        const most = Math.max(
          0,
          ...['a', 'b', 'c', 'd'].map((client) => sum(left.filter((each) => each.client === client))),
        )
        for (const { client } of cut) {
          expect(sum(all.filter((each) => each.client === client))).toBeGreaterThanOrEqual(most)
        }
      }),
    )
  })
})
