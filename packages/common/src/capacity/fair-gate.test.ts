import { afterEach, describe, expect, it, vi } from 'vitest'
import { defineError } from '../errors/define-error.ts'
import { FairGate } from './fair-gate.ts'

const busy = defineError(503, 'busy', 'Busy', { 'retry-after': '1' })
afterEach(() => {
  vi.useRealTimers()
})

/** Returns a function that starts a task. The task records its start in `begun`, and runs until the test ends it. */
function startWork(gate: FairGate, begun: string[]) {
  return (name: string, client: string, size: number) => {
    const end = Promise.withResolvers<void>()
    const done = gate.run(
      async () => {
        begun.push(name)
        await end.promise
      },
      { client, size },
    )
    return { end: () => Promise.all([end.resolve(), done]), done }
  }
}

describe('FairGate', () => {
  it('admits as much work as there are slots, the rest in its order', async () => {
    const gate = new FairGate({ slots: 2, patienceMs: 60_000, refuse: busy })
    const begun: number[] = []
    const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>())
    const done = ends.map(({ promise }, n) =>
      gate.run(async () => {
        begun.push(n)
        await promise
        return n
      }),
    )
    await expect.poll(() => begun).toEqual([0, 1])
    ends[1]?.resolve()
    expect(await done[1]).toBe(1)
    await expect.poll(() => begun).toEqual([0, 1, 2])
    ends[2]?.reject(new Error('fails'))
    await expect(done[2]).rejects.toThrow('fails')
    await expect.poll(() => begun).toEqual([0, 1, 2, 3])
    for (const { resolve } of ends) resolve()
    expect(await Promise.all([done[0], done[3]])).toEqual([0, 3])
  })

  it('makes a client that has its share wait, and no other client', async () => {
    const begun: string[] = []
    const start = startWork(new FairGate({ slots: 4, each: 2, patienceMs: 60_000, refuse: busy }), begun)
    const [first, ...others] = Array.from({ length: 50 }, (_, n) => start(`a${n + 1}`, 'a', 2))
    others.push(start('b1', 'b', 1), start('c1', 'c', 1))
    await expect.poll(() => begun).toEqual(['a1', 'b1', 'c1'])
    await first?.end()
    await expect.poll(() => begun).toEqual(['a1', 'b1', 'c1', 'a2'])
    await Promise.all(others.map(({ end }) => end()))
  })

  it('admits the clients in turn, however much work each of them has', async () => {
    const begun: string[] = []
    const start = startWork(new FairGate({ slots: 1, patienceMs: 60_000, refuse: busy }), begun)
    const works = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => [name, start(name, name.charAt(0), 1)] as const)
    const byName = new Map(works)
    for (let count = 1; count <= works.length; count += 1) {
      await expect.poll(() => begun.length).toBe(count)
      await byName.get(begun.at(-1) ?? '')?.end()
    }
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  })

  it('keeps slots for large work, so that small work does not overtake it for ever', async () => {
    const begun: string[] = []
    const start = startWork(new FairGate({ slots: 2, patienceMs: 60_000, refuse: busy }), begun)
    const [one, two] = [start('a', 'a', 1), start('b', 'b', 1)]
    const large = start('large', 'c', 2)
    start('d', 'd', 1)
    await one.end()
    expect(begun).toEqual(['a', 'b'])
    await two.end()
    await expect.poll(() => begun).toEqual(['a', 'b', 'large'])
    await large.end()
    await expect.poll(() => begun).toEqual(['a', 'b', 'large', 'd'])
  })

  it('runs work that is larger than all slots when nothing else runs', async () => {
    const gate = new FairGate({ slots: 3, each: 2, patienceMs: 60_000, refuse: busy })
    expect(await gate.run(async () => 'done', { size: 1_000 })).toBe('done')
    expect(await gate.run(async () => 'done', { size: 1_000 })).toBe('done')
  })

  it('503: refuses work that has waited too long, never begins it, and admits what waited behind it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const begun: string[] = []
    const start = startWork(new FairGate({ slots: 2, patienceMs: 10_000, refuse: busy }), begun)
    const first = start('first', 'a', 1)
    const late = start('late', 'b', 2)
    const refused = expect(late.done).rejects.toEqual(busy())
    vi.advanceTimersByTime(5_000)
    const behind = start('behind', 'c', 1)
    vi.advanceTimersByTime(5_000)
    await refused
    await behind.end()
    await first.end()
    expect(begun).toEqual(['first', 'behind'])
    expect(vi.getTimerCount()).toBe(0)
  })
})
