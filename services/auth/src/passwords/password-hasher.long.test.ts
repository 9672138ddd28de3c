import { argon2i, hash as hashByReference } from 'argon2'
import { describe, expect, it } from 'vitest'
import { serverBusy } from '../errors.ts'
import {
  createHashQueue,
  createPasswordHasher,
  type HashOutcome,
  type HashTask,
  type HashWork,
  runHashTasks,
} from './password-hasher.ts'
import { parseStoredHash, toStoredFirebaseHash } from './stored-hash.ts'

const BCRYPT = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'

function createHasher(runTasks = runHashTasks) {
  return createPasswordHasher({ runTasks, concurrency: 2, clock: () => 0 })
}

function recordWork() {
  const verified: unknown[] = []
  const runTasks = (tasks: readonly HashTask[]) => {
    for (const task of tasks) {
      if (task.kind === 'verify') verified.push({ ...task.stored, hash: undefined })
    }
    return runHashTasks(tasks)
  }
  return { runTasks, verified }
}

// Published examples of each form. One comes from the reference of argon2.
const firebase =
  '$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='
const OLDER: readonly (readonly [HashWork['alg'], string, string])[] = [
  [
    'argon2i',
    'older',
    await hashByReference('older', { type: argon2i, memoryCost: 4096, timeCost: 3, parallelism: 1 }),
  ],
  ['bcrypt', 'U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ['bcrypt', 'U*U', '$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ['scrypt', 'password', '$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E'],
  [
    'pbkdf2',
    'toomanysecrets',
    '$pbkdf2-sha256$29000$N2YMIWQsBWBMae09x1jrPQ$1t8iyB2A.WF/Z5JZv.lfCIhXXN33N23OSgQYThBYRfk',
  ],
  ['firebase-scrypt', 'user1password', toStoredFirebaseHash(firebase, undefined)],
]

describe('verify', () => {
  it('matches only the password of a hash', async () => {
    const hasher = createHasher()
    const hash = await hasher.hash('secret')
    expect(await hasher.verify(hash, 'secret')).toEqual({ matches: true, isOutdated: false })
    expect(await hasher.verify(hash, 'Secret')).toEqual({ matches: false, isOutdated: false })
  })

  it('matches a hash of Firebase as supabase/auth stores it, and one that supabase/auth has encrypted for its user', async () => {
    const readHash = (userId: string, hash: string) => (userId === 'ada' && hash === '{}' ? firebase : hash)
    const hasher = createPasswordHasher({ runTasks: runHashTasks, concurrency: 2, clock: () => 0, readHash })
    const right = { matches: true, isOutdated: true }
    expect(await hasher.verify(firebase, 'user1password')).toEqual(right)
    expect(await hasher.verify('{}', 'user1password', 'ada')).toEqual(right)
    const wrong = { matches: false, isOutdated: false }
    expect(await hasher.verify('{}', 'user1password', 'bob')).toEqual(wrong)
    expect(await hasher.verify(firebase.replace('v=1', 'v=2'), 'user1password')).toEqual(wrong)
  })

  // ASVS 11.4.2
  it.each(OLDER)('matches passwords of %s and reports an outdated hash', async (alg, password, hash) => {
    const algorithms: string[] = []
    const hasher = createPasswordHasher({
      runTasks: runHashTasks,
      concurrency: 2,
      clock: () => 0,
      onWork: (work, stage) => algorithms.push(`${work.kind} ${work.alg} ${stage}`),
    })
    expect(await hasher.verify(hash, password)).toEqual({ matches: true, isOutdated: true })
    expect(await hasher.verify(hash, `${password}.`)).toEqual({ matches: false, isOutdated: false })
    expect(await hasher.verify(hash, '')).toEqual({ matches: false, isOutdated: false })
    expect(algorithms).toEqual(
      Array(3)
        .fill([`verify ${alg} submitted`, `verify ${alg} completed`])
        .flat(),
    )
  })

  it.each([
    ['nobody', null],
    ['an algorithm that is not known', '$1$abcdefgh$abcdefghijklmnopqrstuu'],
    ['a hash that would take seconds', '$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
    ['a damaged hash', '$argon2id$v=19$m=19456,t=2,p=1$zzz'],
    ['no hash at all', ''],
  ])('does the same work for %s as for a user, and never matches', async (_case, hash) => {
    const { runTasks, verified } = recordWork()
    const hasher = createHasher(runTasks)
    expect(await hasher.verify(hash, 'secret')).toEqual({ matches: false, isOutdated: false })
    await hasher.verify(await hasher.hash('secret'), 'wrong')
    const current = { alg: 'argon2id', cost: { m: 19_456, t: 2, p: 1 } }
    expect(verified).toEqual([current, current])
  })
})

describe('a failure', () => {
  const failing = (outcome: HashOutcome) => {
    const stages: string[] = []
    const hasher = createPasswordHasher({
      runTasks: async (tasks) => tasks.map(() => outcome),
      concurrency: 1,
      clock: () => 0,
      onWork: (_work, stage) => stages.push(stage),
    })
    return { hasher, stages }
  }

  it('rejects the task, and does not count it as completed', async () => {
    const { hasher, stages } = failing({ verdict: 'failed', error: new Error('no memory') })
    await expect(hasher.hash('secret')).rejects.toThrow('no memory')
    await expect(hasher.verify(null, 'secret')).rejects.toThrow('no memory')
    expect(stages).toEqual(['submitted', 'submitted'])
  })

  it('rejects an outcome of another kind of task', async () => {
    const mixedUp = 'a hash thread did another task than it was given'
    await expect(failing({ verdict: 'verified', matches: true }).hasher.hash('secret')).rejects.toThrow(mixedUp)
    await expect(failing({ verdict: 'hashed', hash: '' }).hasher.verify(null, 'secret')).rejects.toThrow(mixedUp)
  })
})

describe('many tasks at once', () => {
  it('never delays current hashes for imported ones', async () => {
    const batches: string[][] = []
    const hasher = createPasswordHasher({
      runTasks: async (tasks) => {
        batches.push(tasks.map((task) => (task.kind === 'hash' ? 'hash' : task.stored.alg)))
        return tasks.map((task) =>
          task.kind === 'hash' ? { verdict: 'hashed', hash: '' } : { verdict: 'verified', matches: true },
        )
      },
      concurrency: 1,
      clock: () => 0,
    })
    await Promise.all([hasher.hash('a'), hasher.verify(null, 'b'), hasher.verify(BCRYPT, 'c'), hasher.hash('d')])
    expect(batches).toEqual([['hash', 'argon2id', 'hash'], ['bcrypt']])
  })

  // ASVS 15.2.2
  it('503: refuses a task that would wait more than 2 s, with Retry-After, and completes the others', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const events: string[] = []
    const hasher = createPasswordHasher({
      runTasks: async (tasks) => {
        await promise
        return tasks.map(() => ({ verdict: 'hashed', hash: 'hash' }))
      },
      concurrency: 2,
      clock: () => 0,
      onWork: ({ kind }, stage) => events.push(`${kind} ${stage}`),
    })
    // At 50 ms a task and two tasks at a time, 80 tasks take 2 s.
    const taken = Array.from({ length: 82 }, () => hasher.hash('x'))
    const refused = await hasher.hash('x').catch((error: unknown) => error)
    expect(refused).toEqual(busy('3'))
    resolve()
    expect(await Promise.all(taken)).toEqual(Array(82).fill('hash'))
    expect(events.filter((event) => event === 'hash submitted')).toHaveLength(83)
    expect(events.filter((event) => event === 'hash completed')).toHaveLength(82)
  })

  it('503: refuses imported hashes that would wait more than 2 s', async () => {
    const hasher = createPasswordHasher({ runTasks: runHashTasks, concurrency: 1, clock: () => 0 })
    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => hasher.verify(BCRYPT, 'U*U')))
    // At 50 ms a task and one task at a time, one runs and 40 wait.
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(41)
    expect(answers.at(-1)).toEqual({ status: 'rejected', reason: busy('3') })
  })
})

const HOUR = 3_600_000

interface Batch {
  readonly passwords: readonly string[]
  readonly end: PromiseWithResolvers<readonly HashOutcome[]>
}

/** The task for a password. An upper-case password is verified with an outdated hash. */
function toTask(password: string): HashTask {
  const stored = parseStoredHash(BCRYPT) ?? expect.fail('cannot parse the hash')
  return password === password.toUpperCase()
    ? { kind: 'verify', password, stored }
    : { kind: 'hash', alg: 'argon2id', password }
}

const toOutcome = (password: string): HashOutcome => ({ verdict: 'hashed', hash: `${password} is done` })

/** A queue in which the test ends each batch. */
function createTestQueue(concurrency: number, waitMsMax = HOUR) {
  let now = 0
  const batches: Batch[] = []
  const enqueue = createHashQueue({
    runTasks: (tasks) => {
      const end = Promise.withResolvers<readonly HashOutcome[]>()
      batches.push({ passwords: tasks.map(({ password }) => password), end })
      return end.promise
    },
    concurrency,
    waitMsMax,
    clock: () => now,
  })
  return {
    run: (...passwords: readonly string[]) => passwords.map((password) => enqueue(toTask(password))),
    given: () => batches.map(({ passwords }) => passwords),
    /** Ends a batch in which each task took `eachMs`. */
    finish: (index: number, eachMs = 0) => {
      const { passwords, end } = batches[index] ?? expect.fail(`there is no batch ${index}`)
      now += eachMs * passwords.length
      end.resolve(passwords.map(toOutcome))
    },
    fail: (index: number, error: Error) => batches[index]?.end.reject(error),
  }
}

const done = (...passwords: readonly string[]) => passwords.map(toOutcome)
const busy = (retryAfter: string) => serverBusy({ headers: { 'retry-after': retryAfter } })
const runReadyCallbacks = () => new Promise((resolve) => setImmediate(resolve))

describe('createHashQueue', () => {
  it('gives each core one task while tasks are not more than cores', async () => {
    const { run, given, finish } = createTestQueue(2)
    const first = run('a', 'b')
    await runReadyCallbacks()
    expect(given()).toEqual([['a'], ['b']])
    const second = run('c', 'd')
    await runReadyCallbacks()
    expect(given()).toHaveLength(2)
    finish(1)
    await runReadyCallbacks()
    expect(given()).toEqual([['a'], ['b'], ['c']])
    finish(0)
    await runReadyCallbacks()
    finish(2)
    finish(3)
    expect(await Promise.all([...first, ...second])).toEqual(done('a', 'b', 'c', 'd'))
  })

  it('shares waiting tasks between the cores, at most eight to each, in order', async () => {
    const { run, given, finish } = createTestQueue(2)
    const answers = run(...'abcdefghijklmnopqrstuvw')
    await runReadyCallbacks()
    expect(given()).toEqual([[...'abcdefgh'], [...'ijklmnop']])
    finish(0)
    expect(await Promise.all(answers.slice(0, 8))).toEqual(done(...'abcdefgh'))
    expect(given().slice(2)).toEqual([[...'qrst']])
    finish(1)
    await runReadyCallbacks()
    expect(given().slice(3)).toEqual([[...'uv']])
    finish(2)
    await runReadyCallbacks()
    expect(given().slice(4)).toEqual([['w']])
    finish(3)
    finish(4)
    expect(await Promise.all(answers)).toEqual(done(...'abcdefghijklmnopqrstuvw'))
  })

  it('gives each outdated hash a batch of its own, when no current hash waits', async () => {
    const { run, given, finish } = createTestQueue(1)
    const answers = run('A', 'b', 'c', 'D', 'E', 'f', 'g')
    for (let batch = 0; batch < 4; batch += 1) {
      await runReadyCallbacks()
      finish(batch)
    }
    expect(await Promise.all(answers)).toEqual(done('A', 'b', 'c', 'D', 'E', 'f', 'g'))
    expect(given()).toEqual([['b', 'c', 'f', 'g'], ['A'], ['D'], ['E']])
  })

  it('keeps half of the threads free of outdated hashes', async () => {
    const { run, given, finish } = createTestQueue(4)
    void run('A', 'B', 'C')
    await runReadyCallbacks()
    expect(given()).toEqual([['A'], ['B']])
    const answers = run('d', 'e')
    await runReadyCallbacks()
    expect(given()).toEqual([['A'], ['B'], ['d'], ['e']])
    for (const batch of [2, 3]) finish(batch)
    expect(await Promise.all(answers)).toEqual(done('d', 'e'))
    expect(given()).toHaveLength(4)
  })

  it('runs an outdated hash after eight batches of current ones', async () => {
    const { run, given, finish } = createTestQueue(1)
    void run('A', ...Array.from({ length: 80 }, () => 'b'))
    for (let batch = 0; batch < 9; batch += 1) {
      await runReadyCallbacks()
      finish(batch)
    }
    await runReadyCallbacks()
    expect(given().findIndex(([task]) => task === 'A')).toBe(8)
  })

  it('503: never refuses a current hash because of outdated ones', async () => {
    const { run, finish } = createTestQueue(2, 100)
    const outdated = run('A', 'B', 'C', 'D')
    await expect(outdated.pop()).rejects.toEqual(busy('1'))
    await runReadyCallbacks()
    finish(0, HOUR)
    await runReadyCallbacks()
    await expect(run('E').pop()).rejects.toEqual(busy('721'))
    const answers = run('f', 'g')
    await runReadyCallbacks()
    finish(2)
    await runReadyCallbacks()
    finish(3)
    expect(await Promise.all(answers)).toEqual(done('f', 'g'))
  })

  it('503: refuses a task that would wait longer than the limit, and accepts one when there is room', async () => {
    // At 50 ms a task, one at a time, and a limit of 100 ms, one task runs and two wait.
    const { run, finish } = createTestQueue(1, 100)
    const answers = run('a', 'b', 'c', 'd')
    await expect(answers.pop()).rejects.toEqual(busy('1'))
    await runReadyCallbacks()
    finish(0)
    expect(await Promise.all(answers)).toEqual(done('a', 'b', 'c'))
    const [again] = run('e')
    await runReadyCallbacks()
    finish(1)
    expect(await again).toEqual(toOutcome('e'))
  })

  it('measures how long a hash takes', async () => {
    const { run, finish } = createTestQueue(1, 2_000)
    for (let batch = 0; batch < 100; batch += 1) {
      const answers = Promise.allSettled(run('a', 'b'))
      await runReadyCallbacks()
      finish(batch, 3_000)
      await answers
    }
    const blocked = run('c', 'd')
    await expect(blocked.pop()).rejects.toEqual(busy('3'))
    await runReadyCallbacks()
    finish(100)
    expect(await Promise.all(blocked)).toEqual(done('c'))
  })

  it('frees the place of a task when its batch fails', async () => {
    const { run, finish, fail } = createTestQueue(1)
    const answers = run('a', 'b')
    await runReadyCallbacks()
    fail(0, new Error('no memory'))
    const refused = { status: 'rejected', reason: new Error('no memory') }
    expect(await Promise.allSettled(answers)).toEqual([refused, refused])
    const [next] = run('c')
    await runReadyCallbacks()
    finish(1)
    expect(await next).toEqual(toOutcome('c'))
  })

  it('frees the place of a task when its batch cannot begin', async () => {
    let isRefused = true
    const enqueue = createHashQueue({
      runTasks: (tasks) => {
        if (isRefused) throw new Error('no more threads')
        return Promise.resolve(tasks.map(({ password }) => toOutcome(password)))
      },
      concurrency: 1,
      waitMsMax: HOUR,
      clock: () => 0,
    })
    await expect(enqueue(toTask('a'))).rejects.toThrow('no more threads')
    isRefused = false
    expect(await enqueue(toTask('b'))).toEqual(toOutcome('b'))
  })

  it('rejects a task for which a thread returns no outcome', async () => {
    const enqueue = createHashQueue({ runTasks: async () => [], concurrency: 1, waitMsMax: HOUR, clock: () => 0 })
    await expect(enqueue(toTask('a'))).rejects.toThrow('a task was left out')
  })
})
