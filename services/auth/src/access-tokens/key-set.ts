import type { FindKey } from './access-token.ts'
import type { PublicJwk, SigningKey } from './signing-key.ts'
import type { SigningKeyState } from './signing-key-repository.ts'

/** How long clients may cache the key set, in seconds. A key that is younger cannot be promoted yet. */
export const JWKS_MAX_AGE_SECONDS = 600

/** The keys of access tokens at one moment. */
export interface KeySet {
  /** Signs new tokens. */
  readonly signer: SigningKey
  readonly find: FindKey
  /** The keys with which other services verify tokens: only asymmetric keys. */
  readonly publicJwks: readonly PublicJwk[]
}

/** The keys that a key set is made of. */
export interface KeySetOptions {
  /** HS256 with JWT_SECRET: signs while no key is active, and always verifies (reference: Signing keys). */
  readonly secretKey: SigningKey
  readonly stored: readonly { readonly key: SigningKey; readonly state: SigningKeyState }[]
  /** JWT_VALID_METHODS; undefined allows the algorithms of the keys. */
  readonly validMethods: readonly string[] | undefined
}

/**
 * Makes a key set. The active key signs, or JWT_SECRET where no key is active. JWT_SECRET also verifies HS256 tokens without a
 * known `kid`.
 */
export function createKeySet({ secretKey, stored, validMethods }: KeySetOptions): KeySet {
  const byKid = new Map(stored.map(({ key }) => [key.kid, key]))
  return {
    signer: stored.find(({ state }) => state === 'active')?.key ?? secretKey,
    find: (kid, alg) => {
      if (validMethods !== undefined && !validMethods.includes(alg)) return undefined
      const known = kid === undefined ? undefined : byKid.get(kid)
      return known ?? (alg === 'HS256' ? secretKey : undefined)
    },
    publicJwks: stored.flatMap(({ key }) => key.publicJwk ?? []),
  }
}

/**
 * Requires that this service accepts the tokens which it signs with an algorithm.
 * @throws Error when JWT_VALID_METHODS lacks the algorithm
 */
export function requireValidMethod({ validMethods }: Pick<KeySetOptions, 'validMethods'>, alg: string): void {
  if (validMethods?.includes(alg) === false) throw new Error(`AUTH_JWT_VALID_METHODS must contain ${alg}`)
}
