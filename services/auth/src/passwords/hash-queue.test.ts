import { describe, expect, it } from 'vitest'
import { createHashQueue } from './hash-queue.ts'

const HOUR = 3_600_000

/** A queue whose batches end when told. */
function createTestQueue(concurrency: number, waitMsMax = HOUR) {
  let now = 0
  const batches: { readonly tasks: readonly string[]; readonly end: PromiseWithResolvers<readonly string[]> }[] = []
  const queue = createHashQueue<string, string>({
    runBatch: (tasks) => {
      const end = Promise.withResolvers<readonly string[]>()
      batches.push({ tasks, end })
      return end.promise
    },
    isLong: (task) => task === task.toUpperCase(),
    concurrency,
    waitMsMax,
    clock: () => now,
  })
  return {
    run: (...tasks: readonly string[]) => tasks.map((task) => queue.run(task)),
    /** What every batch so far was given. */
    given: () => batches.map(({ tasks }) => tasks),
    /** Ends a batch, each of whose tasks took so long. */
    finish: (index: number, eachMs = 0) => {
      const { tasks, end } = batches[index] ?? expect.fail(`there is no batch ${index}`)
      now += eachMs * tasks.length
      end.resolve(tasks.map((task) => `${task} is done`))
    },
    fail: (index: number, error: Error) => batches[index]?.end.reject(error),
  }
}

const done = (...tasks: readonly string[]) => tasks.map((task) => ({ verdict: 'done', outcome: `${task} is done` }))
/** Lets everything that is ready run. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('createHashQueue', () => {
  it('gives each core a task of its own while there are enough of them', async () => {
    const { run, given, finish } = createTestQueue(2)
    const first = run('a', 'b')
    await settle()
    expect(given()).toEqual([['a'], ['b']])
    const second = run('c', 'd')
    await settle()
    expect(given()).toHaveLength(2)
    finish(1)
    await settle()
    expect(given()).toEqual([['a'], ['b'], ['c']])
    finish(0)
    await settle()
    finish(2)
    finish(3)
    expect(await Promise.all([...first, ...second])).toEqual(done('a', 'b', 'c', 'd'))
  })

  it('shares out what waits between the cores, at most eight to each, in order', async () => {
    const { run, given, finish } = createTestQueue(2)
    const answers = run(...'abcdefghijklmnopqrstuvw')
    await settle()
    expect(given()).toEqual([[...'abcdefgh'], [...'ijklmnop']])
    finish(0)
    expect(await Promise.all(answers.slice(0, 8))).toEqual(done(...'abcdefgh'))
    expect(given().slice(2)).toEqual([[...'qrst']])
    finish(1)
    await settle()
    expect(given().slice(3)).toEqual([[...'uv']])
    finish(2)
    await settle()
    expect(given().slice(4)).toEqual([['w']])
    finish(3)
    finish(4)
    expect(await Promise.all(answers)).toEqual(done(...'abcdefghijklmnopqrstuvw'))
  })

  it('gives long tasks batches of their own, when no other waits', async () => {
    const { run, given, finish } = createTestQueue(1)
    const answers = run('A', 'b', 'c', 'D', 'E', 'f', 'g')
    for (let batch = 0; batch < 4; batch += 1) {
      await settle()
      finish(batch)
    }
    expect(await Promise.all(answers)).toEqual(done('A', 'b', 'c', 'D', 'E', 'f', 'g'))
    expect(given()).toEqual([['b', 'c', 'f', 'g'], ['A'], ['D'], ['E']])
  })

  it('keeps half of the threads free of long tasks', async () => {
    const { run, given, finish } = createTestQueue(4)
    void run('A', 'B', 'C')
    await settle()
    expect(given()).toEqual([['A'], ['B']])
    const answers = run('d', 'e')
    await settle()
    expect(given()).toEqual([['A'], ['B'], ['d'], ['e']])
    for (const batch of [2, 3]) finish(batch)
    expect(await Promise.all(answers)).toEqual(done('d', 'e'))
    expect(given()).toHaveLength(4)
  })

  it('gives a long task its turn after eight batches of others', async () => {
    const { run, given, finish } = createTestQueue(1)
    void run('A', ...Array.from({ length: 80 }, () => 'b'))
    for (let batch = 0; batch < 9; batch += 1) {
      await settle()
      finish(batch)
    }
    await settle()
    expect(given().findIndex(([task]) => task === 'A')).toBe(8)
  })

  it('refuses nobody for the time that long tasks take', async () => {
    const { run, finish } = createTestQueue(2, 100)
    const long = run('A', 'B', 'C', 'D')
    expect(await long.pop()).toEqual({ verdict: 'busy', retryAfterSeconds: 1 })
    await settle()
    // An hour each.
    finish(0, HOUR)
    await settle()
    expect(await run('E').pop()).toMatchObject({ verdict: 'busy' })
    const answers = run('f', 'g')
    await settle()
    finish(2)
    await settle()
    finish(3)
    expect(await Promise.all(answers)).toEqual(done('f', 'g'))
  })

  it('refuses what would wait longer than the limit, and takes it again when there is room', async () => {
    // 50 ms each, one at a time, 100 ms of waiting: one runs, two wait.
    const { run, finish } = createTestQueue(1, 100)
    const answers = run('a', 'b', 'c', 'd')
    expect(await answers.pop()).toEqual({ verdict: 'busy', retryAfterSeconds: 1 })
    await settle()
    finish(0)
    expect(await Promise.all(answers)).toEqual(done('a', 'b', 'c'))
    const [again] = run('e')
    await settle()
    finish(1)
    expect(await again).toEqual({ verdict: 'done', outcome: 'e is done' })
  })

  it('learns from the clock how long a hash takes', async () => {
    const { run, finish } = createTestQueue(1, 2_000)
    for (let batch = 0; batch < 100; batch += 1) {
      const answers = run('a', 'b')
      await settle()
      finish(batch, 3_000)
      await Promise.all(answers)
    }
    const blocked = run('c', 'd')
    expect(await blocked.pop()).toEqual({ verdict: 'busy', retryAfterSeconds: 3 })
    await settle()
    finish(100)
    expect(await Promise.all(blocked)).toEqual(done('c'))
  })

  it('frees its place when a batch fails', async () => {
    const { run, finish, fail } = createTestQueue(1)
    const answers = run('a', 'b')
    await settle()
    fail(0, new Error('no memory'))
    const refused = { status: 'rejected', reason: expect.objectContaining({ message: 'no memory' }) }
    expect(await Promise.allSettled(answers)).toEqual([refused, refused])
    const [next] = run('c')
    await settle()
    finish(1)
    expect(await next).toEqual({ verdict: 'done', outcome: 'c is done' })
  })

  it('frees its place when a batch cannot begin', async () => {
    let isRefused = true
    const queue = createHashQueue<string, string>({
      runBatch: (tasks) => {
        if (isRefused) throw new Error('no more threads')
        return Promise.resolve(tasks)
      },
      isLong: () => false,
      concurrency: 1,
      waitMsMax: HOUR,
      clock: () => 0,
    })
    await expect(queue.run('a')).rejects.toThrow('no more threads')
    isRefused = false
    expect(await queue.run('b')).toEqual({ verdict: 'done', outcome: 'b' })
  })

  it('leaves nobody waiting of whom a thread says nothing', async () => {
    const queue = createHashQueue({
      runBatch: async () => [],
      isLong: () => false,
      concurrency: 1,
      waitMsMax: HOUR,
      clock: () => 0,
    })
    await expect(queue.run('a')).rejects.toThrow('a task was left out')
  })
})
