import { serverBusy } from '../errors.ts'
import { type Argon2, isOutdated } from './argon2.ts'
import { createHashQueue } from './hash-queue.ts'
import { type PasswordForm, parsePasswordHash } from './password-form.ts'
import { verifyPassword } from './verify-password.ts'

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
  readonly argon2: Argon2
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
const DUMMY: PasswordForm = {
  alg: 'argon2id',
  hash: '$argon2id$v=19$m=19456,t=2,p=1$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk',
  cost: { m: 19_456, t: 2, p: 1 },
}

/** The hasher of a process. Hashes run on other threads: requests that need none are not slowed. */
export function createPasswordHasher(options: PasswordHasherOptions): PasswordHasher {
  const { argon2, concurrency, clock, onWork } = options
  const queue = createHashQueue({ concurrency, waitMsMax: WAIT_MS_MAX, clock })
  const run = async <Result>(work: HashWork, task: () => Promise<Result>): Promise<Result> => {
    onWork?.(work, 'submitted')
    const answer = await queue.run(task)
    if (answer.verdict === 'busy') {
      throw serverBusy({ headers: { 'retry-after': String(answer.retryAfterSeconds) } })
    }
    onWork?.(work, 'completed')
    return answer.result
  }
  return {
    hash: (password) => run({ kind: 'hash', alg: 'argon2id' }, () => argon2.hash(password)),
    verify: async (hash, password) => {
      const form = hash === null ? undefined : parsePasswordHash(hash)
      const { alg } = form ?? DUMMY
      const matches = await run({ kind: 'compare', alg }, () => verifyPassword(argon2, form ?? DUMMY, password))
      return form && matches ? { matches, outdated: isOutdated(form) } : WRONG
    },
  }
}
