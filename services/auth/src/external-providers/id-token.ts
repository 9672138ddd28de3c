import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { JWTVerifyOptions } from 'jose'
import { z } from 'zod'
import { equalSecrets } from '../secrets/encrypted-secret.ts'
import type { KeySets } from './key-sets.ts'
import { type IdTokenClaims, type IdTokenRules, parseForeignJson } from './provider.ts'

/** An id_token with a valid signature, issuer, audience and times. Its nonce is not checked yet. */
export interface VerifiedIdToken {
  readonly claims: IdTokenClaims
  readonly alg: string
}

interface Expected {
  readonly rules: Pick<IdTokenRules, 'keysOf' | 'secret'>
  /** The client ids of this service. The token must be for one of them. */
  readonly audiences: readonly string[]
  readonly now: Date
}

/** Only asymmetric algorithms. With `none`, anybody could make a token. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const LEEWAY_SECONDS = 30
/** HMAC with the client secret, for providers that use it. */
const SECRET_ALGORITHM = 'HS256'
/**
 * The allowed types in a header. The same keys sign other tokens, such as access tokens and logout tokens (RFC 8725, section
 * 3.11). A type with a parameter is not allowed.
 */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'application/jwt', 'jose'])

/** The token was made for another application. */
export class ForeignAudience extends Error {
  override readonly name = 'ForeignAudience'
}

/** The keys of the issuer cannot be fetched, so the token cannot be verified. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

/**
 * Verifies an id_token (OpenID Connect Core, section 3.1.3.7). The issuer in the token only selects one of the provider's
 * issuers, and the keys of this issuer must have signed the token. A secret is used only for a token without a key id.
 * @throws ForeignAudience, KeysUnavailable, Error
 */
export async function verifyIdToken(
  keySets: KeySets,
  idToken: string,
  { rules, audiences, now }: Expected,
): Promise<VerifiedIdToken> {
  const verified = await verify(keySets, idToken, {
    rules,
    options: {
      audience: [...audiences],
      requiredClaims: ['sub', 'exp', 'iat'],
      clockTolerance: LEEWAY_SECONDS,
      currentDate: now,
    },
  })
  return { claims: readClaims(idToken), alg: verified.alg }
}

/**
 * Verifies a signed userinfo answer (OpenID Connect Core, section 5.3.2). Its issuer and audience may be missing.
 * @throws ForeignAudience, KeysUnavailable, Error
 */
export async function verifyUserinfo(
  keySets: KeySets,
  answer: string,
  { rules, issuer, audiences, now }: Expected & { readonly issuer: string },
): Promise<IdTokenClaims> {
  const claims = readClaims(answer)
  const audience = claims.aud === undefined ? {} : { audience: [...audiences] }
  const options = { ...audience, clockTolerance: LEEWAY_SECONDS, currentDate: now }
  await verify(keySets, answer, { rules, options, issuer: claims.iss === undefined ? issuer : undefined })
  return claims
}

interface Verification {
  readonly rules: Expected['rules']
  readonly options: JWTVerifyOptions
  /** The issuer of a token without one. If `undefined`, the token must contain its issuer. */
  readonly issuer?: string | undefined
}

async function verify(
  keySets: KeySets,
  token: string,
  { rules, options, issuer }: Verification,
): Promise<{ alg: string }> {
  const jose = await import('jose')
  const { iss } = jose.decodeJwt(token)
  // The library replaces bytes that are not UTF-8, so claims could differ from those that the issuer has signed.
  if (!isUtf8(Buffer.from(token.split('.')[1] ?? '', 'base64url'))) throw new Error('the token is not UTF-8')
  const chosen = iss ?? issuer
  const source = chosen === undefined ? undefined : rules.keysOf(chosen)
  if (chosen === undefined || !source) throw new Error('the id_token is of another issuer')
  const { alg, kid, typ } = jose.decodeProtectedHeader(token)
  if (typ !== undefined && !TYPES.has(typ.toLowerCase())) throw new Error('the token is none of OpenID Connect')
  const { secret } = rules
  const common = { ...options, ...(iss === undefined ? {} : { issuer: chosen }) }
  const check = async () => {
    if (alg !== SECRET_ALGORITHM || kid !== undefined || secret === undefined)
      return jose.jwtVerify(token, await keySets.find(source), { ...common, algorithms: ALGORITHMS })
    const audience = options.audience === undefined ? {} : { audience: secret.clientId }
    return jose.jwtVerify(token, secret.bytes, { ...common, ...audience, algorithms: [SECRET_ALGORITHM] })
  }
  const { protectedHeader } = await check().catch((error) => {
    throw classify(jose, error)
  })
  return { alg: protectedHeader.alg }
}

function classify({ errors }: typeof import('jose'), error: unknown): Error {
  // Codes of failures to fetch keys. All other errors are about the token.
  const outages: readonly string[] = [errors.JOSEError.code, errors.JWKSTimeout.code, errors.JWKSInvalid.code]
  if (!(error instanceof errors.JOSEError) || outages.includes(error.code)) {
    return new KeysUnavailable(error instanceof Error ? error.message : 'no keys')
  }
  const isForeign = error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud'
  return isForeign ? new ForeignAudience(error.message) : error
}

/** Reads the claims of a verified token again, because the library rounds numbers. */
function readClaims(idToken: string): IdTokenClaims {
  const [, payload = ''] = idToken.split('.')
  return z.record(z.string(), z.unknown()).parse(parseForeignJson(Buffer.from(payload, 'base64url').toString()))
}

/** Whether a token was requested with this nonce. The claim is the SHA-256 of the nonce in hexadecimal. */
export function matchesNonce(claim: unknown, nonce: string): boolean {
  return typeof claim === 'string' && equalSecrets(hash('sha256', nonce), claim)
}

/**
 * Whether an access token was issued with an id_token (OpenID Connect Core, section 3.1.3.6). The claim is the left half of the
 * access token's hash, by the algorithm of the signature.
 * @param alg from the header. `EdDSA`, which states no size, means Ed25519
 */
export function matchesAccessToken(claim: unknown, accessToken: string, alg: string): boolean {
  const digest = hash(`sha${/\d{3}$/.exec(alg)?.[0] ?? '512'}`, accessToken, 'buffer')
  return typeof claim === 'string' && equalSecrets(digest.subarray(0, digest.length / 2).toString('base64url'), claim)
}
