import { serverBusy } from '../errors.ts'
import { isOutdated } from './argon2.ts'
import { createHashQueue } from './hash-queue.ts'
import type { HashOutcome, HashTask } from './hash-task.ts'
import { type PasswordForm, parsePasswordHash } from './password-form.ts'

/** Makes and compares password hashes, a few at a time. Both throw `server_busy` (503) when too many wait. */
export interface PasswordHasher {
  /** An argon2id hash in PHC form. */
  hash(password: string): Promise<string>
  /**
   * Compares with a stored hash of any form that `users import` takes. Null (no such user, or one without a password)
   * costs the work of a usual hash and is always wrong; so is a hash that cannot be read.
   */
  verify(hash: string | null, password: string): Promise<PasswordComparison>
}

export interface PasswordComparison {
  readonly matches: boolean
  /** True when the password matches a hash of another algorithm or other costs: store a new one. */
  readonly outdated: boolean
}

/** One unit of work. */
export interface HashWork {
  readonly kind: 'hash' | 'compare'
  readonly alg: PasswordForm['alg']
}

export interface PasswordHasherOptions {
  /** Does tasks one after the other, off the event loop. */
  readonly runBatch: (tasks: readonly HashTask[]) => Promise<readonly HashOutcome[]>
  /** Cores of the machine. */
  readonly concurrency: number
  /** A clock that only goes forward, in milliseconds. */
  readonly clock: () => number
  /** Told of every hash that is made or compared: counters, without names. */
  readonly onWork?: (work: HashWork, stage: 'submitted' | 'completed') => void
}

/** How much hashing may wait before newcomers are refused. */
const WAIT_MS_MAX = 2_000
const WRONG: PasswordComparison = { matches: false, outdated: false }
/** The hash of a random password that nobody knows, of the same costs as all others. */
const DUMMY_HASH = '$argon2id$v=19$m=19456,t=2,p=1$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk'

/** The hasher of a process. Hashes run on other threads: requests that need none are not slowed. */
export function createPasswordHasher({ onWork, ...options }: PasswordHasherOptions): PasswordHasher {
  const queue = createHashQueue({ ...options, isLong, waitMsMax: WAIT_MS_MAX })
  const run = async (task: HashTask, alg: HashWork['alg']): Promise<HashOutcome> => {
    const work: HashWork = { kind: task.kind, alg }
    onWork?.(work, 'submitted')
    const answer = await queue.run(task)
    if (answer.verdict === 'busy') {
      throw serverBusy({ headers: { 'retry-after': String(answer.retryAfterSeconds) } })
    }
    if (answer.outcome.verdict === 'failed') throw answer.outcome.error
    onWork?.(work, 'completed')
    return answer.outcome
  }
  return {
    hash: async (password) => {
      const outcome = await run({ kind: 'hash', password }, 'argon2id')
      if (outcome.verdict !== 'hashed') throw mixedUp()
      return outcome.hash
    },
    verify: async (hash, password) => {
      const form = hash === null ? undefined : parsePasswordHash(hash)
      const stored = hash === null || form === undefined ? DUMMY_HASH : hash
      const isUsual = form === undefined || !isOutdated(form)
      const outcome = await run({ kind: 'compare', hash: stored, password, isUsual }, form?.alg ?? 'argon2id')
      if (outcome.verdict !== 'compared') throw mixedUp()
      return form && outcome.matches ? { matches: true, outdated: !isUsual } : WRONG
    },
  }
}

/** An imported hash may cost a hundred times what ours does. */
function isLong(task: HashTask): boolean {
  return task.kind === 'compare' && !task.isUsual
}

function mixedUp(): Error {
  return new Error('a hash thread did another task than it was given')
}
