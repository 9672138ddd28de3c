import { execFile } from 'node:child_process'
import { getPriority, platform } from 'node:os'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  type Argon2,
  createHashThreads,
  type HashTask,
  loadArgon2,
  loadNodeArgon2,
  loadRustArgon2,
  runHashTask,
  runHashTasks,
} from './password-hasher.ts'
import { isOutdated, parseStoredHash } from './stored-hash.ts'

const run = promisify(execFile)
const argon2 = await loadArgon2()
const parse = (hash: string) => parseStoredHash(hash) ?? expect.fail(`cannot parse ${hash}`)
const verifyTask = (hash: string, password: string): HashTask => ({ kind: 'verify', stored: parse(hash), password })
/** A hash that looks like argon2id, but the library rejects its cost. */
const BROKEN: HashTask = {
  kind: 'verify',
  stored: { alg: 'argon2id', hash: '$argon2id$', cost: { m: 0, t: 0, p: 0 } },
  password: 'secret',
}
/**
 * Prints the threads with a lower priority than the main thread: at the start, after two parallel tasks, and after two more. Then
 * prints the priority of the main thread.
 */
const PROGRAM = `
  import { readdirSync } from 'node:fs'
  import { getPriority } from 'node:os'
  import { runHashTasks } from '${import.meta.resolve('./password-hasher.ts')}'
  const behind = () => readdirSync('/proc/self/task').filter((thread) => getPriority(Number(thread)) > getPriority())
  const twice = () => Promise.all([1, 2].map(() => runHashTasks([{ kind: 'hash', alg: 'argon2id', password: 'secret' }])))
  const results = [behind()]
  for (let round = 0; round < 2; round += 1) {
    await twice()
    results.push(behind())
  }
  console.log(JSON.stringify([...results, getPriority()]))`
const LOWEST = 19

describe('runHashTasks', () => {
  it('runs tasks in order, also after a failure, without blocking the event loop', async () => {
    const order: string[] = []
    const work = runHashTasks([BROKEN, { kind: 'hash', alg: 'argon2id', password: 'secret' }]).finally(() =>
      order.push('done'),
    )
    await new Promise((resolve) => setImmediate(resolve))
    order.push('next turn')
    const [failed, hashed] = await work
    expect(order).toEqual(['next turn', 'done'])
    expect(failed).toEqual({ verdict: 'failed', error: expect.any(Error) })
    const hash = hashed?.verdict === 'hashed' ? hashed.hash : expect.fail('no hash')
    expect(await runHashTasks([verifyTask(hash, 'secret'), verifyTask(hash, 'Secret')])).toEqual([
      { verdict: 'verified', matches: true },
      { verdict: 'verified', matches: false },
    ])
  })

  it('returns no outcomes for no tasks', async () => {
    expect(await runHashTasks([])).toEqual([])
  })

  it.runIf(platform() === 'linux' && getPriority() < LOWEST)(
    'reuses idle threads at a low priority and lets the process end',
    async () => {
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', PROGRAM], { timeout: 60_000 })
      const [before, first, second, own] = JSON.parse(stdout)
      expect(before).toEqual([])
      expect(first).toHaveLength(2)
      expect(second).toEqual(first)
      expect(own).toBe(getPriority())
    },
  )
})

describe('createHashThreads', () => {
  /** Obeys the command in the password of the first task, and answers with the thread id. */
  const program = `import { parentPort, threadId } from 'node:worker_threads'
    parentPort.on('message', ([{ password }]) => {
      if (password === 'end') process.exit(3)
      if (password === 'throw') throw new Error('broken')
      parentPort.postMessage([threadId])
      if (password === 'answer and end') process.exit(3)
      if (password === 'answer and throw') throw new Error('broken')
    })`
  const threads = createHashThreads(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
  const ask = (password: string) => threads([{ kind: 'hash', alg: 'argon2id', password }])

  it('rejects when no thread can start', async () => {
    const nowhere = createHashThreads(new URL('https://example.com/'))
    await expect(nowhere([])).rejects.toThrow('scheme')
  })

  it.each([
    ['end', 'a hash thread has ended'],
    ['throw', 'broken'],
  ])(
    'rejects a batch whose thread does not answer (%s) and starts a new thread for the next batch',
    async (password, message) => {
      const before = await ask('answer')
      await expect(ask(password)).rejects.toThrow(message)
      const after = await ask('answer')
      expect(after).not.toEqual(before)
      expect(await ask('answer')).toEqual(after)
    },
  )

  it.each(['answer and end', 'answer and throw'])(
    'starts a new thread when an idle thread has ended: %s',
    async (password) => {
      const before = await ask('answer')
      // The thread may end before or after its answer arrives.
      await ask(password).catch(() => {})
      await expect.poll(() => ask('answer').catch(() => before)).not.toEqual(before)
    },
  )
})

describe('runHashTask', () => {
  const verify = (hash: string, password: string, library: Argon2 = argon2) =>
    runHashTask(library, verifyTask(hash, password))

  it('hashes and verifies a password', async () => {
    const outcome = await runHashTask(argon2, { kind: 'hash', alg: 'argon2id', password: 'secret' })
    const hash = outcome.verdict === 'hashed' ? outcome.hash : expect.fail('no hash')
    expect(await verify(hash, 'secret')).toEqual({ verdict: 'verified', matches: true })
    expect(await verify(hash, 'Secret')).toEqual({ verdict: 'verified', matches: false })
  })

  it.each([
    ['an error', () => Promise.reject(new Error('no memory'))],
    ['a text', () => Promise.reject('no memory')],
  ])('returns a failure and throws nothing when the library throws %s', async (_case, hash) => {
    const outcome = await runHashTask({ ...argon2, hash }, { kind: 'hash', alg: 'argon2id', password: 'x' })
    expect(outcome).toEqual({ verdict: 'failed', error: new Error('no memory') })
  })
})

const isOutdatedHash = (hash: string) => isOutdated(parse(hash))
const CURRENT_FORM = /^\$argon2id\$v=19\$(m=19456,t=2,p=1|m=19456,p=1,t=2)\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/

describe.each([
  ['@node-rs/argon2', loadRustArgon2, loadNodeArgon2],
  ['argon2', loadNodeArgon2, loadRustArgon2],
])('hashes by %s', (_name, load, loadOther) => {
  // ASVS 11.4.2
  it('makes hashes of the PHC format, which the other library verifies', async () => {
    const hash = await (await load()).hash('correct horse é 😀')
    expect(hash).toMatch(CURRENT_FORM)
    expect(isOutdatedHash(hash)).toBe(false)
    const other = await loadOther()
    expect(await other.verify(hash, 'correct horse é 😀')).toBe(true)
    expect(await other.verify(hash, 'correct horse e 😀')).toBe(false)
  })

  it('salts each hash, so the same password gives two hashes', async () => {
    const argon2 = await load()
    expect(await argon2.hash('same')).not.toBe(await argon2.hash('same'))
  })

  it('verifies a hash of argon2i, which counts as outdated', async () => {
    const { argon2i, hash } = await import('argon2')
    const known = await hash('older', { type: argon2i, memoryCost: 4096, timeCost: 3, parallelism: 1 })
    const argon2 = await load()
    expect(await argon2.verify(known, 'older')).toBe(true)
    expect(await argon2.verify(known, 'newer')).toBe(false)
    expect(isOutdatedHash(known)).toBe(true)
  })
})

describe('loadArgon2', () => {
  it('loads a library that verifies the hashes that it makes', async () => {
    const argon2 = await loadArgon2()
    expect(await argon2.verify(await argon2.hash('x'), 'x')).toBe(true)
  })
})
