import { describe, expect, it } from 'vitest'
import { createHashQueue } from './hash-queue.ts'

/** Work that ends when told. */
function createWork() {
  const { promise, resolve } = Promise.withResolvers<string>()
  let started = false
  const start = () => {
    started = true
    return promise
  }
  return { start, finish: resolve, isStarted: () => started }
}

/** Lets everything that is ready run. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('createHashQueue', () => {
  it('runs as much at once as there are cores, and the rest in order', async () => {
    const queue = createHashQueue({ concurrency: 2, waitMsMax: 2_000, clock: () => 0 })
    const works = [createWork(), createWork(), createWork(), createWork()]
    const answers = works.map((work) => queue.run(work.start))
    await settle()
    expect(works.map((work) => work.isStarted())).toEqual([true, true, false, false])
    works[1]?.finish('second')
    await settle()
    expect(works.map((work) => work.isStarted())).toEqual([true, true, true, false])
    works[0]?.finish('first')
    works[2]?.finish('third')
    works[3]?.finish('fourth')
    expect(await Promise.all(answers)).toEqual([
      { verdict: 'done', result: 'first' },
      { verdict: 'done', result: 'second' },
      { verdict: 'done', result: 'third' },
      { verdict: 'done', result: 'fourth' },
    ])
  })

  it('refuses what would wait longer than the limit, and takes it again when there is room', async () => {
    // 50 ms each, one at a time, 100 ms of waiting: one runs, two wait.
    const queue = createHashQueue({ concurrency: 1, waitMsMax: 100, clock: () => 0 })
    const works = [createWork(), createWork(), createWork()]
    const answers = works.map((work) => queue.run(work.start))
    expect(await queue.run(async () => 'too much')).toEqual({ verdict: 'busy', retryAfterSeconds: 1 })
    for (const work of works) work.finish('done')
    await Promise.all(answers)
    expect(await queue.run(async () => 'room')).toEqual({ verdict: 'done', result: 'room' })
  })

  it('learns from the clock how long a hash takes', async () => {
    let now = 0
    const queue = createHashQueue({ concurrency: 1, waitMsMax: 2_000, clock: () => now })
    for (let i = 0; i < 100; i++) {
      await queue.run(async () => {
        now += 3_000
      })
    }
    const blocker = createWork()
    const blocked = queue.run(blocker.start)
    expect(await queue.run(async () => 'nobody waits 3 s')).toEqual({ verdict: 'busy', retryAfterSeconds: 3 })
    blocker.finish('done')
    expect(await blocked).toEqual({ verdict: 'done', result: 'done' })
  })

  it('frees its place when the work fails', async () => {
    const queue = createHashQueue({ concurrency: 1, waitMsMax: 0, clock: () => 0 })
    await expect(queue.run(() => Promise.reject(new Error('no memory')))).rejects.toThrow('no memory')
    expect(await queue.run(async () => 'next')).toEqual({ verdict: 'done', result: 'next' })
  })
})
