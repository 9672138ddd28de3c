import { expect, it } from 'vitest'
import { Gate } from './gate.ts'

it('lets so many in at a time, the others in their order', async () => {
  const gate = new Gate({ places: 2, patienceMs: 60_000 })
  const begun: number[] = []
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>())
  const done = ends.map(({ promise }, n) =>
    gate.run(async () => {
      begun.push(n)
      await promise
      return n
    }),
  )
  await Promise.resolve()
  expect(begun).toEqual([0, 1])
  ends[1]?.resolve()
  expect(await done[1]).toBe(1)
  await expect.poll(() => begun).toEqual([0, 1, 2])
  ends[2]?.reject(new Error('fails'))
  await expect(done[2]).rejects.toThrow('fails')
  await expect.poll(() => begun).toEqual([0, 1, 2, 3])
  for (const { resolve } of ends) resolve()
  expect(await Promise.all([done[0], done[3]])).toEqual([0, 3])
})

it('503: refuses what has waited too long, and never begins it', async () => {
  const gate = new Gate({ places: 1, patienceMs: 10 })
  const end = Promise.withResolvers<void>()
  const first = gate.run(() => end.promise)
  const begun: string[] = []
  await expect(gate.run(async () => begun.push('second'))).rejects.toMatchObject({ status: 503 })
  end.resolve()
  await first
  expect(await gate.run(async () => begun.push('third'))).toBe(1)
})
