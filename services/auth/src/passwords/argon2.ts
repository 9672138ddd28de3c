import type { PasswordForm } from './password-form.ts'

/** The work of one password hash: memory in KiB, passes, lanes (OWASP's first choice for argon2id). */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** The two functions that this service needs of an argon2 library. They may keep the thread that calls them. */
export interface Argon2 {
  /** An argon2id hash in PHC form, with a random salt of 16 bytes. */
  hash(password: string): Promise<string>
  /** Whether the password is that of an argon2id or argon2i hash in PHC form. Throws on any other text. */
  verify(hash: string, password: string): Promise<boolean>
}

/** Loads the fastest argon2 that this machine can run: the Rust build, else the C build (3 times as slow). */
export async function loadArgon2(): Promise<Argon2> {
  try {
    return await loadRustArgon2()
  } catch {
    return await loadNodeArgon2()
  }
}

/** `@node-rs/argon2`: prebuilt for the common platforms. */
export async function loadRustArgon2(): Promise<Argon2> {
  const { hashSync, verifySync } = await import('@node-rs/argon2')
  return {
    hash: async (password) => hashSync(password, COST),
    verify: async (known, password) => verifySync(known, password),
  }
}

/** `argon2`: compiled where it is installed. */
export async function loadNodeArgon2(): Promise<Argon2> {
  const { argon2id, hash, verify } = await import('argon2')
  return { hash: (password) => hash(password, { type: argon2id, ...COST }), verify }
}

/**
 * The hash of a password that nobody knows, not even this process: random bytes stand where salt and digest do. It costs
 * no work, and makes a user who has a password but cannot sign in by one until they have set their own.
 */
export function hashOfUnknownPassword(randomBytes: (size: number) => Buffer): string {
  const { memoryCost, timeCost, parallelism } = COST
  const random = (bytes: number) => randomBytes(bytes).toString('base64').replace(/=+$/, '')
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${random(16)}$${random(32)}`
}

/** Whether a hash was made with another algorithm or other costs than today's. */
export function isOutdated(form: PasswordForm): boolean {
  if (form.alg !== 'argon2id') return true
  const { m, t, p } = form.cost
  return m !== COST.memoryCost || t !== COST.timeCost || p !== COST.parallelism
}
