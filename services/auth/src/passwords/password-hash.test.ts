import { HttpError } from '@trestle/common/errors/define-error.ts'
import { argon2i, hash as hashByReference } from 'argon2'
import { describe, expect, it } from 'vitest'
import { toStoredFirebaseHash } from './firebase-scrypt.ts'
import type { HashOutcome, HashTask } from './hash-task.ts'
import { hashThreads } from './hash-threads.ts'
import { createPasswordHasher, type HashWork } from './password-hash.ts'

function createHasher(runBatch = hashThreads.run) {
  return createPasswordHasher({ runBatch, concurrency: 2, clock: () => 0 })
}

/** Notes the work that is asked of the threads. */
function countWork() {
  const compared: string[] = []
  const runBatch = (tasks: readonly HashTask[]) => {
    for (const task of tasks) {
      if (task.kind === 'compare')
        compared.push(task.hash.slice(0, task.hash.lastIndexOf('$', task.hash.lastIndexOf('$') - 1)))
    }
    return hashThreads.run(tasks)
  }
  return { runBatch, compared }
}

// Published examples of each form, and one of argon2's own reference.
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
  it('knows the password of a hash', async () => {
    const hasher = createHasher()
    const hash = await hasher.hash('secret')
    expect(await hasher.verify(hash, 'secret')).toEqual({ matches: true, outdated: false })
    expect(await hasher.verify(hash, 'Secret')).toEqual({ matches: false, outdated: false })
  })

  // ASVS 11.4.2
  it.each(OLDER)('knows %s, and tells that it should be made anew', async (alg, password, hash) => {
    const algorithms: string[] = []
    const hasher = createPasswordHasher({
      runBatch: hashThreads.run,
      concurrency: 2,
      clock: () => 0,
      onWork: (work, stage) => algorithms.push(`${work.kind} ${work.alg} ${stage}`),
    })
    expect(await hasher.verify(hash, password)).toEqual({ matches: true, outdated: true })
    expect(await hasher.verify(hash, `${password}.`)).toEqual({ matches: false, outdated: false })
    expect(await hasher.verify(hash, '')).toEqual({ matches: false, outdated: false })
    expect(algorithms).toEqual(
      Array(3)
        .fill([`compare ${alg} submitted`, `compare ${alg} completed`])
        .flat(),
    )
  })

  it.each([
    ['nobody', null],
    ['an algorithm that is not known', '$1$abcdefgh$abcdefghijklmnopqrstuu'],
    ['a hash that would take seconds', '$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
    ['a damaged hash', '$argon2id$v=19$m=19456,t=2,p=1$zzz'],
    ['no hash at all', ''],
  ])('does the same work for %s as for a user, and always refuses', async (_case, hash) => {
    const { runBatch, compared } = countWork()
    const hasher = createHasher(runBatch)
    expect(await hasher.verify(hash, 'secret')).toEqual({ matches: false, outdated: false })
    await hasher.verify(await hasher.hash('secret'), 'wrong')
    expect(compared).toEqual(['$argon2id$v=19$m=19456,t=2,p=1', '$argon2id$v=19$m=19456,t=2,p=1'])
  })
})

describe('a failure', () => {
  const failing = (outcome: HashOutcome) => {
    const stages: string[] = []
    const hasher = createPasswordHasher({
      runBatch: async (tasks) => tasks.map(() => outcome),
      concurrency: 1,
      clock: () => 0,
      onWork: (_work, stage) => stages.push(stage),
    })
    return { hasher, stages }
  }

  it('of one task is told to who asked for it, and does not count as done', async () => {
    const { hasher, stages } = failing({ verdict: 'failed', error: new Error('no memory') })
    await expect(hasher.hash('secret')).rejects.toThrow('no memory')
    await expect(hasher.verify(null, 'secret')).rejects.toThrow('no memory')
    expect(stages).toEqual(['submitted', 'submitted'])
  })

  it('never takes an answer to another question for a wrong password', async () => {
    const mixedUp = 'a hash thread did another task than it was given'
    await expect(failing({ verdict: 'compared', matches: true }).hasher.hash('secret')).rejects.toThrow(mixedUp)
    await expect(failing({ verdict: 'hashed', hash: '' }).hasher.verify(null, 'secret')).rejects.toThrow(mixedUp)
  })
})

describe('a flood', () => {
  it('keeps nobody waiting for an imported hash', async () => {
    const batches: string[][] = []
    const hasher = createPasswordHasher({
      runBatch: async (tasks) => {
        batches.push(tasks.map((task) => (task.kind === 'hash' ? 'hash' : task.hash.slice(0, 9))))
        return tasks.map((task) =>
          task.kind === 'hash' ? { verdict: 'hashed', hash: '' } : { verdict: 'compared', matches: true },
        )
      },
      concurrency: 1,
      clock: () => 0,
    })
    const bcrypt = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
    await Promise.all([hasher.hash('a'), hasher.verify(null, 'b'), hasher.verify(bcrypt, 'c'), hasher.hash('d')])
    expect(batches).toEqual([['hash', '$argon2id', 'hash'], ['$2a$05$CC']])
  })

  // ASVS 15.2.2
  it('503: refuses with Retry-After what would wait more than 2 s, and counts what ran', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const events: string[] = []
    const hasher = createPasswordHasher({
      runBatch: async (tasks) => {
        await promise
        return tasks.map(() => ({ verdict: 'hashed', hash: 'hash' }))
      },
      concurrency: 2,
      clock: () => 0,
      onWork: ({ kind }, stage) => events.push(`${kind} ${stage}`),
    })
    // 50 ms each and two at a time: 80 wait 2 s.
    const taken = Array.from({ length: 82 }, () => hasher.hash('x'))
    const refused = await hasher.hash('x').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(HttpError)
    expect(refused).toMatchObject({ status: 503, code: 'server_busy', headers: { 'retry-after': '3' } })
    resolve()
    expect(await Promise.all(taken)).toEqual(Array(82).fill('hash'))
    expect(events.filter((event) => event === 'hash submitted')).toHaveLength(83)
    expect(events.filter((event) => event === 'hash completed')).toHaveLength(82)
  })

  it('503: refuses imported forms by the same queue', async () => {
    const hasher = createPasswordHasher({ runBatch: hashThreads.run, concurrency: 1, clock: () => 0 })
    const bcrypt = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => hasher.verify(bcrypt, 'U*U')))
    // 50 ms each and one at a time: one runs and 40 wait.
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(41)
    expect(answers.at(-1)).toMatchObject({ status: 'rejected', reason: { status: 503, code: 'server_busy' } })
  })
})
