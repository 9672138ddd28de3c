import { LRUCache } from 'lru-cache'
import { isSigner, type JwtConfig } from '../config/jwt.ts'
import type { Db } from '../database.ts'
import { toLoggedNames } from '../records/ids.ts'
import type { Encryption } from '../secrets/encrypted-secret.ts'
import {
  type FindKey,
  fitClaims,
  isCurrent,
  signAccessToken,
  type TokenRules,
  type Verification,
  type VerifiedClaims,
  verifyAccessToken,
} from './access-token.ts'
import {
  importSigningKey,
  type PrivateJwk,
  type PublicJwk,
  type SigningKey,
  type SigningKeyState,
  secretSigningKey,
} from './signing-key.ts'
import {
  decryptSigningKey,
  encryptSigningKey,
  findActiveKid,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  type StoredSigningKey,
} from './signing-key-repository.ts'

/** Signs and verifies the access tokens of a process. Until `load` has read the table, it only has the key of `JWT_SECRET`. */
export interface KeyRing {
  sign(claims: object): string
  verify(token: string, now: Date): Verification
  publicJwks(): readonly PublicJwk[]
  /**
   * Inserts the keys of `JWT_KEYS` into the table and reads the table.
   * @throws Error if a key cannot be decrypted, if the table contains another key with a kid of `JWT_KEYS`, or if the algorithm
   * of the active key is refused
   */
  load(): Promise<void>
  /** Reads the table every 5 s, so that a key rotation reaches all processes. If reading fails, the keys stay unchanged. */
  startPolling(onError: (error: Error) => void): void
  stopPolling(): void
}

interface KeyRingOptions extends Encryption {
  readonly db: Db
  readonly jwt: JwtConfig
  readonly tokenRules: TokenRules
  readonly logger: { warn(line: object, text: string): void }
}

/** The time between two reads of the table, in milliseconds. After this time every process has the current keys. */
export const POLL_MS = 5_000
const VERIFIED_TOKENS_MAX = 10_000
const VERIFIED_CHARACTERS_MAX = 16 * 1024 * 1024

/** Creates the key ring of a process. It caches the claims of verified tokens until the tokens expire or the keys change. */
export function createKeyRing(options: KeyRingOptions): KeyRing {
  const { db, jwt, tokenRules, logger, encryptionKeys } = options
  const secretKey = secretSigningKey(jwt.secret, jwt.secretKeyId)
  const toKeySet = (rows: readonly StoredSigningKey[]): KeySet => {
    const stored = rows.map((row) => ({ key: decryptSigningKey(encryptionKeys, row), state: row.state }))
    return createKeySet({ secretKey, stored, validMethods: jwt.validMethods })
  }
  const verified = new LRUCache<string, VerifiedClaims>({
    max: VERIFIED_TOKENS_MAX,
    maxSize: VERIFIED_CHARACTERS_MAX,
    sizeCalculation: (_claims, token) => token.length,
  })
  let keys = toKeySet([])
  let fingerprint = '[]'
  let timer: NodeJS.Timeout | undefined

  const read = async (): Promise<void> => {
    const rows = await listSigningKeys(db)
    const current = JSON.stringify(rows)
    if (current === fingerprint) return
    keys = toKeySet(rows)
    fingerprint = current
    verified.clear()
  }
  const verify = (token: string, now: Date): Verification => {
    const known = verified.get(token)
    if (known !== undefined && isCurrent(known, now)) return { verdict: 'valid', claims: known }
    const verification = verifyAccessToken(keys.find, token, now)
    if (verification.verdict === 'valid') verified.set(token, verification.claims)
    else verified.delete(token)
    return verification
  }

  return {
    sign: (claims) => {
      const { claims: fitting, leftOut } = fitClaims(tokenRules, claims)
      if (leftOut.length > 0) {
        const what = { user_id: Reflect.get(claims, 'sub'), members: toLoggedNames(leftOut) }
        logger.warn(what, 'user_metadata left out of an access token: with them it would not fit into a header')
      }
      return signAccessToken(keys.signer, fitting)
    },
    verify,
    publicJwks: () => keys.publicJwks,
    load: async () => {
      await insertSeedKeys(options)
      await read()
      for (const jwk of jwt.seedKeys) expectSameKey(jwk, keys)
      requireValidMethod(jwt, keys.signer.alg)
    },
    startPolling: (onError) => {
      timer = setInterval(() => void read().catch(onError), POLL_MS)
    },
    stopPolling: () => clearInterval(timer),
  }
}

/** Inserts the keys of `JWT_KEYS` that the table lacks. A new key becomes active immediately only if no other key is active. */
async function insertSeedKeys({ db, jwt, ...encryption }: KeyRingOptions): Promise<void> {
  if (jwt.seedKeys.length === 0) return
  await db.transaction().execute(async (trx) => {
    await lockSigningKeys(trx)
    const isSigned = (await findActiveKid(trx)) !== undefined
    for (const jwk of jwt.seedKeys) {
      await insertSigningKey(trx, encryptSigningKey(encryption, jwk), isSigner(jwk) && !isSigned ? 'active' : 'next')
    }
  })
}

/** Checks that the key with an old kid was not replaced. Verifiers that have the old key would refuse new tokens. */
function expectSameKey(jwk: PrivateJwk, { find }: KeySet): void {
  const key = importSigningKey(jwk)
  const known = find(jwk.kid, key.alg)
  if (known?.kid !== jwk.kid || known.verify('', Buffer.from(key.sign(''), 'base64url'))) return
  throw new Error(`AUTH_JWT_KEYS has another key under the kid "${jwk.kid}" than the database: give it a new kid`)
}

/** The time for which clients may cache the key set, in seconds. A key younger than this cannot be promoted. */
export const JWKS_MAX_AGE_SECONDS = 600

/** The keys of access tokens at one point in time. */
interface KeySet {
  readonly signer: SigningKey
  readonly find: FindKey
  /** The keys with which other services verify tokens. Contains only asymmetric keys. */
  readonly publicJwks: readonly PublicJwk[]
}

interface KeySetOptions {
  /** The HS256 key of `JWT_SECRET`. It signs while no key is active, and it always verifies (reference: Signing keys). */
  readonly secretKey: SigningKey
  readonly stored: readonly { readonly key: SigningKey; readonly state: SigningKeyState }[]
  /** The setting `JWT_VALID_METHODS`. If it is `undefined`, the algorithms of the keys are allowed. */
  readonly validMethods: readonly string[] | undefined
}

/** The active key signs, otherwise `JWT_SECRET`, which also verifies HS256 tokens without a known `kid`. */
function createKeySet({ secretKey, stored, validMethods }: KeySetOptions): KeySet {
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

/** Requires an algorithm in `JWT_VALID_METHODS`, so that the service accepts its own tokens. @throws Error otherwise */
export function requireValidMethod({ validMethods }: Pick<KeySetOptions, 'validMethods'>, alg: string): void {
  if (validMethods?.includes(alg) === false) throw new Error(`AUTH_JWT_VALID_METHODS must contain ${alg}`)
}
