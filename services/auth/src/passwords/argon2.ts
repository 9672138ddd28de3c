/** The work of one password hash: memory in KiB, passes, lanes (OWASP's first choice for argon2id). */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** PHC form of argon2id and argon2i. Libraries disagree about the order of the parameters. */
const PHC = /^\$(argon2id?)\$v=19\$([mtp]=\d+,[mtp]=\d+,[mtp]=\d+)\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/
const CURRENT_PARAMETERS = [`m=${COST.memoryCost}`, `p=${COST.parallelism}`, `t=${COST.timeCost}`].join()

/** The two functions that this service needs of an argon2 library. Both run on threads of their own. */
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
  const { hash, verify } = await import('@node-rs/argon2')
  return { hash: (password) => hash(password, COST), verify: (known, password) => verify(known, password) }
}

/** `argon2`: compiled where it is installed. */
export async function loadNodeArgon2(): Promise<Argon2> {
  const { argon2id, hash, verify } = await import('argon2')
  return { hash: (password) => hash(password, { type: argon2id, ...COST }), verify }
}

/** Whether `verify` can read a stored hash. */
export function isArgon2Hash(hash: string): boolean {
  return PHC.test(hash)
}

/** Whether a hash was made with another algorithm or other costs than today's. */
export function isOutdatedHash(hash: string): boolean {
  const [, variant, parameters] = PHC.exec(hash) ?? []
  return variant !== 'argon2id' || parameters?.split(',').sort().join() !== CURRENT_PARAMETERS
}
