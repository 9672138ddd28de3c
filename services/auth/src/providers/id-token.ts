import { hash, timingSafeEqual } from 'node:crypto'
import type { KeySets, KeySource } from './key-sets.ts'
import type { ExternalProfile } from './provider.ts'

/** Claims of an id_token whose signature, issuer, audience and times are good. */
export type IdTokenClaims = Readonly<Record<string, unknown>>

/** What a provider's id_tokens are judged by. */
export interface IdTokenRules {
  /** Where the keys of an issuer are; undefined for one that the provider is not. */
  keysOf(issuer: string): KeySource | undefined
  /** Whether the nonce is compared in the id_token grant. */
  readonly nonce: 'checked' | 'not-checked'
  /** The person whom a token is about. @throws Error when a claim is not what it should be */
  readProfile(claims: IdTokenClaims): ExternalProfile
}

export interface VerifiedIdToken {
  readonly claims: IdTokenClaims
  /** By which it is signed. */
  readonly alg: string
}

interface Expected {
  readonly rules: Pick<IdTokenRules, 'keysOf'>
  /** Client ids of ours: the token must be for one of them. */
  readonly audiences: readonly string[]
  readonly now: Date
}

/** Signatures by a key of the provider alone: with `none` or a shared secret anybody could be anybody. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const LEEWAY_SECONDS = 30
/** Explicit types (RFC 8725, section 3.11): access tokens, logout tokens and others that the same keys sign. */
const OTHER_KINDS = /\+jwt$/i

/** The token was made for somebody else's application. */
export class ForeignAudience extends Error {
  override readonly name = 'ForeignAudience'
}

/** The keys of the issuer are out of reach: nobody can tell whether the token is good. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

/**
 * Verifies an id_token (OpenID Connect Core, section 3.1.3.7). The issuer that it names only chooses among the provider's
 * own; the keys are that issuer's.
 * @throws ForeignAudience, KeysUnavailable, Error
 */
export async function verifyIdToken(
  keySets: KeySets,
  idToken: string,
  { rules, audiences, now }: Expected,
): Promise<VerifiedIdToken> {
  const jose = await import('jose')
  const { iss: issuer } = jose.decodeJwt(idToken)
  const source = issuer === undefined ? undefined : rules.keysOf(issuer)
  if (issuer === undefined || !source) throw new Error('the id_token is of another issuer')
  const options = { issuer, audience: [...audiences], algorithms: ALGORITHMS, currentDate: now }
  const required = { requiredClaims: ['sub', 'exp', 'iat'], clockTolerance: LEEWAY_SECONDS }
  const verify = async () => jose.jwtVerify(idToken, await keySets.find(source), { ...options, ...required })
  const { payload, protectedHeader } = await verify().catch((error) => {
    throw classify(jose, error)
  })
  if (OTHER_KINDS.test(protectedHeader.typ ?? '')) throw new Error('the token is none of OpenID Connect')
  return { claims: payload, alg: protectedHeader.alg }
}

function classify({ errors }: typeof import('jose'), error: unknown): Error {
  // Failures of asking for the keys; all others are about the token.
  const outages: readonly string[] = [errors.JOSEError.code, errors.JWKSTimeout.code, errors.JWKSInvalid.code]
  if (!(error instanceof errors.JOSEError) || outages.includes(error.code)) {
    return new KeysUnavailable(error instanceof Error ? error.message : 'no keys')
  }
  const isForeign = error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud'
  return isForeign ? new ForeignAudience(error.message) : error
}

/** Whether the nonce of a request is the one that a token was asked for with: the token holds its SHA-256 in hexadecimal. */
export function matchesNonce(claim: unknown, nonce: string): boolean {
  return typeof claim === 'string' && equal(hash('sha256', nonce), claim)
}

/**
 * Whether an access token came with an id_token (OpenID Connect Core, section 3.1.3.6): the claim is the left half of its
 * hash, by the algorithm that the token is signed with.
 * @param alg of the header; a name without a size, `EdDSA`, is that of Ed25519
 */
export function matchesAccessToken(claim: unknown, accessToken: string, alg: string): boolean {
  const digest = hash(`sha${/\d{3}$/.exec(alg)?.[0] ?? '512'}`, accessToken, 'buffer')
  return typeof claim === 'string' && equal(digest.subarray(0, digest.length / 2).toString('base64url'), claim)
}

function equal(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
