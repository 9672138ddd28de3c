import { execFile } from 'node:child_process'
import { getPriority, platform } from 'node:os'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createHashThreads, hashThreads } from './hash-threads.ts'

const run = promisify(execFile)
/** Prints which threads are behind the first at the start, after two tasks at once, and after two more; and where that is. */
const PROGRAM = `
  import { readdirSync } from 'node:fs'
  import { getPriority } from 'node:os'
  import { hashThreads } from '${import.meta.resolve('./hash-threads.ts')}'
  const behind = () => readdirSync('/proc/self/task').filter((thread) => getPriority(Number(thread)) > getPriority())
  const twice = () => Promise.all([1, 2].map(() => hashThreads.run([{ kind: 'hash', password: 'secret' }])))
  const results = [behind()]
  for (let round = 0; round < 2; round += 1) {
    await twice()
    results.push(behind())
  }
  console.log(JSON.stringify([...results, getPriority()]))`
const LOWEST = 19

describe('hashThreads', () => {
  it('does the tasks in order, a failure between them, and leaves the event loop free meanwhile', async () => {
    const order: string[] = []
    const work = hashThreads
      .run([
        { kind: 'compare', hash: '$1$unknown', password: 'secret', isUsual: true },
        { kind: 'hash', password: 'secret' },
      ])
      .finally(() => order.push('done'))
    await new Promise((resolve) => setImmediate(resolve))
    order.push('next turn')
    const [failed, hashed] = await work
    expect(order).toEqual(['next turn', 'done'])
    expect(failed).toEqual({ verdict: 'failed', error: new Error('the form of the hash is not known') })
    const hash = hashed?.verdict === 'hashed' ? hashed.hash : expect.fail('no hash')
    expect(
      await hashThreads.run([
        { kind: 'compare', hash, password: 'secret', isUsual: true },
        { kind: 'compare', hash, password: 'Secret', isUsual: true },
      ]),
    ).toEqual([
      { verdict: 'compared', matches: true },
      { verdict: 'compared', matches: false },
    ])
  })

  it('has nothing to say of no tasks', async () => {
    expect(await hashThreads.run([])).toEqual([])
  })

  it.runIf(platform() === 'linux' && getPriority() < LOWEST)(
    'uses idle threads again, below the priority of the process, and lets it end',
    async () => {
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', PROGRAM], { timeout: 20_000 })
      const [before, first, second, own] = JSON.parse(stdout)
      expect(before).toEqual([])
      expect(first).toHaveLength(2)
      expect(second).toEqual(first)
      expect(own).toBe(getPriority())
    },
  )
})

describe('createHashThreads', () => {
  /** Does what the password of the first task says, and answers who it is. */
  const program = `import { parentPort, threadId } from 'node:worker_threads'
    parentPort.on('message', ([{ password }]) => {
      if (password === 'end') process.exit(3)
      if (password === 'throw') throw new Error('broken')
      parentPort.postMessage([threadId])
      if (password === 'answer and end') process.exit(3)
      if (password === 'answer and throw') throw new Error('broken')
    })`
  const threads = createHashThreads(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
  const ask = (password: string) => threads.run([{ kind: 'hash', password }])

  it('rejects where no thread can start', async () => {
    const nowhere = createHashThreads(new URL('https://example.com/'))
    await expect(nowhere.run([])).rejects.toThrow('scheme')
  })

  it.each([
    ['end', 'a hash thread has ended'],
    ['throw', 'broken'],
  ])('refuses a batch whose thread does not answer (%s), and gives the next one another', async (password, message) => {
    const before = await ask('answer')
    await expect(ask(password)).rejects.toThrow(message)
    const after = await ask('answer')
    expect(after).not.toEqual(before)
    expect(await ask('answer')).toEqual(after)
  })

  it.each(['answer and end', 'answer and throw'])(
    'leaves nobody waiting for a thread that ends later: %s',
    async (password) => {
      const before = await ask('answer')
      // Its answer may come before its end or not at all.
      await ask(password).catch(() => {})
      await expect.poll(() => ask('answer').catch(() => before)).not.toEqual(before)
    },
  )
})
