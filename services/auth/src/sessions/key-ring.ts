import type { Kysely } from 'kysely'
import { LRUCache } from 'lru-cache'
import { isSigner, type JwtConfig } from '../config/jwt.ts'
import type { AuthDatabase } from '../database.ts'
import { type EncryptionKeys, openSecret, sealSecret } from '../secrets/sealed-secret.ts'
import {
  type AccessTokenClaims,
  isCurrent,
  signAccessToken,
  type Verification,
  type VerifiedClaims,
  verifyAccessToken,
} from './access-token.ts'
import { createKeySet, type KeySet } from './key-set.ts'
import { importSigningKey, type PrivateJwk, type PublicJwk, secretSigningKey } from './signing-key.ts'
import {
  insertMissingSigningKeys,
  listSigningKeys,
  type NewSigningKey,
  type StoredSigningKey,
} from './signing-key-repository.ts'

/** Signs and verifies the access tokens of a process. Knows JWT_SECRET alone until `load` has read the table. */
export interface KeyRing {
  sign(claims: AccessTokenClaims): string
  verify(token: string, now: Date): Verification
  /** The keys of /.well-known/jwks.json. */
  publicJwks(): readonly PublicJwk[]
  /** Fills the table from JWT_KEYS and reads it. Throws when a key cannot be opened. */
  load(): Promise<void>
  /** Reads the table every 5 s, so that a rotation reaches all processes. A failure leaves the keys as they are. */
  startPolling(onError: (error: Error) => void): void
  stopPolling(): void
}

export interface KeyRingOptions {
  readonly db: Kysely<AuthDatabase>
  readonly jwt: JwtConfig
  readonly encryptionKeys: EncryptionKeys
  readonly randomBytes: (size: number) => Buffer
}

const POLL_MS = 5_000
const VERIFIED_TOKENS_MAX = 10_000
const VERIFIED_CHARACTERS_MAX = 16 * 1024 * 1024
const NONCE_BYTES = 12

export function createKeyRing({ db, jwt, encryptionKeys, randomBytes }: KeyRingOptions): KeyRing {
  const secretKey = secretSigningKey(jwt.secret, jwt.secretKeyId)
  const toKeySet = (rows: readonly StoredSigningKey[]): KeySet => {
    const stored = rows.map(({ kid, state, sealed }) => ({ key: openKey(encryptionKeys, kid, sealed), state }))
    return createKeySet({ secretKey, stored, validMethods: jwt.validMethods })
  }
  // What has verified once need not be verified again until it expires or the keys change.
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
    sign: (claims) => signAccessToken(keys.signer, claims),
    verify,
    publicJwks: () => keys.publicJwks,
    load: async () => {
      const seeds = jwt.seedKeys.map((jwk) => toNewKey(jwk, encryptionKeys, randomBytes(NONCE_BYTES)))
      await insertMissingSigningKeys(db, seeds)
      await read()
    },
    startPolling: (onError) => {
      timer = setInterval(() => void read().catch(onError), POLL_MS)
    },
    stopPolling: () => clearInterval(timer),
  }
}

function openKey(encryptionKeys: EncryptionKeys, kid: string, sealed: StoredSigningKey['sealed']) {
  try {
    // Only this service writes the column, and the seal proves it.
    return importSigningKey(JSON.parse(openSecret(encryptionKeys, kid, sealed)) as PrivateJwk)
  } catch (cause) {
    throw new Error(`signing key "${kid}" cannot be opened: is AUTH_SECURITY_DATABASE_ENCRYPTION_KEY the right one?`, {
      cause,
    })
  }
}

function toNewKey(jwk: PrivateJwk, encryptionKeys: EncryptionKeys, nonce: Buffer): NewSigningKey {
  const { alg, publicJwk } = importSigningKey(jwk)
  const sealed = sealSecret(encryptionKeys, jwk.kid, JSON.stringify({ ...jwk, alg }), nonce)
  return { kid: jwk.kid, alg, sealed, publicJwk, signs: isSigner(jwk) }
}
