import { serverBusy } from '../errors.ts'
import { type Argon2, isArgon2Hash, isOutdatedHash } from './argon2.ts'
import { createHashQueue } from './hash-queue.ts'

/** Makes and compares password hashes, a few at a time. Both throw `server_busy` (503) when too many wait. */
export interface PasswordHasher {
  /** An argon2id hash in PHC form. */
  hash(password: string): Promise<string>
  /**
   * Compares with a stored hash. Null (no such user, or one without a password) costs the same work and is always wrong;
   * so is a hash that is not argon2: other forms become readable together with `auth users import`.
   */
  verify(hash: string | null, password: string): Promise<PasswordComparison>
}

export interface PasswordComparison {
  readonly matches: boolean
  /** True when the password matches a hash of another algorithm or other costs: store a new one. */
  readonly outdated: boolean
}

export interface PasswordHasherOptions {
  readonly argon2: Argon2
  /** Cores of the machine. */
  readonly concurrency: number
  /** A clock that only goes forward, in milliseconds. */
  readonly clock: () => number
  /** Told of every hash that is made or compared: counters, without names. */
  readonly onWork?: (work: 'hash' | 'compare', stage: 'submitted' | 'completed') => void
}

/** How much hashing may wait before newcomers are refused. */
const WAIT_MS_MAX = 2_000
const WRONG: PasswordComparison = { matches: false, outdated: false }
/** The hash of a random password that nobody knows, of the same costs as all others. */
const DUMMY_HASH = '$argon2id$v=19$m=19456,t=2,p=1$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk'

/** The hasher of a process. Hashes run on other threads: requests that need none are not slowed. */
export function createPasswordHasher(options: PasswordHasherOptions): PasswordHasher {
  const { argon2, concurrency, clock, onWork } = options
  const queue = createHashQueue({ concurrency, waitMsMax: WAIT_MS_MAX, clock })
  const run = async <Result>(work: 'hash' | 'compare', task: () => Promise<Result>): Promise<Result> => {
    onWork?.(work, 'submitted')
    const answer = await queue.run(task)
    if (answer.verdict === 'busy') {
      throw serverBusy({ headers: { 'retry-after': String(answer.retryAfterSeconds) } })
    }
    onWork?.(work, 'completed')
    return answer.result
  }
  return {
    hash: (password) => run('hash', () => argon2.hash(password)),
    verify: async (hash, password) => {
      const known = hash !== null && isArgon2Hash(hash)
      const matches = await run('compare', () => argon2.verify(known ? hash : DUMMY_HASH, password))
      return known && matches ? { matches, outdated: isOutdatedHash(hash) } : WRONG
    },
  }
}
