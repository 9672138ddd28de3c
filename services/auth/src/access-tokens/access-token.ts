import type { CompatibilityOptions } from '../config/compatibility.ts'
import { JWT_PROBLEMS } from '../errors.ts'
import type { SigningKey } from './signing-key.ts'

/** One way in which a session was authenticated, and when. */
export interface AuthenticationMethod {
  readonly method: string
  /** Seconds since 1970. */
  readonly timestamp: number
}

/** The assurance level of a session. It is `aal2` after the user has used a second factor. */
export type AssuranceLevel = 'aal1' | 'aal2'

/** The claims of an access token in the written order. Times are seconds since 1970 (reference: Access tokens). */
export interface AccessTokenClaims {
  /** `undefined` if tokens carry no `iss` claim. */
  readonly iss: string | undefined
  readonly sub: string
  readonly aud: string
  /** Seconds since 1970. */
  readonly iat: number
  readonly exp: number
  readonly email: string
  /** Present only if the address is unconfirmed. Services that identify users by email can then refuse the token. */
  readonly email_verified?: false
  readonly phone: string
  readonly app_metadata: Readonly<Record<string, unknown>>
  readonly user_metadata: Readonly<Record<string, unknown>>
  readonly role: string
  readonly aal: string
  /** Newest first. */
  readonly amr: readonly AuthenticationMethod[]
  readonly session_id: string
  readonly is_anonymous: boolean
}

/** The claims of a verified token. Tokens of operators may lack any of these claims. */
export type VerifiedClaims = Readonly<Record<string, unknown>>

/** Whether a token is valid. Clients see `reason`, so it does not name a key. */
export type Verification =
  | { readonly verdict: 'valid'; readonly claims: VerifiedClaims }
  | { readonly verdict: 'invalid'; readonly reason: string }

export type FindKey = (kid: string | undefined, alg: string) => SigningKey | undefined

/** Signs claims as a JWT (RFC 7519) in JWS compact form. */
export function signAccessToken(key: SigningKey, claims: object): string {
  const data = `${key.header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${data}.${key.sign(data)}`
}

/** Verifies form, signature and times, in this order. The caller must find the user of the token. */
export function verifyAccessToken(findKey: FindKey, token: string, now: Date): Verification {
  const [header, payload, signature, ...rest] = token.split('.')
  if (header === undefined || payload === undefined || signature === undefined || rest.length > 0) {
    return toInvalid(JWT_PROBLEMS.segments)
  }
  const { alg, kid, crit } = parsePart(header) ?? {}
  if (typeof alg !== 'string' || !(kid === undefined || typeof kid === 'string')) {
    return toInvalid(JWT_PROBLEMS.header)
  }
  // RFC 7515, section 4.1.11: a token with an unknown extension in `crit` is invalid. This service supports no extension.
  if (crit !== undefined) return toInvalid(JWT_PROBLEMS.extension)
  const key = findKey(kid, alg)
  // Use the algorithm of the key and ignore `alg` in the token. This rejects `none` and algorithm confusion.
  if (key === undefined || key.alg !== alg) return toInvalid(JWT_PROBLEMS.key)
  const signatureBytes = decodePart(signature)
  if (signatureBytes === undefined || !key.verify(`${header}.${payload}`, signatureBytes)) {
    return toInvalid(JWT_PROBLEMS.signature)
  }
  const claims = parsePart(payload)
  if (claims === undefined) return toInvalid(JWT_PROBLEMS.claims)
  const problem = timeProblem(claims, now.getTime() / 1_000)
  return problem === undefined ? { verdict: 'valid', claims } : toInvalid(problem)
}

/** Returns whether verified claims have not expired and are already valid (`nbf`). */
export function isCurrent(claims: VerifiedClaims, now: Date): boolean {
  return timeProblem(claims, now.getTime() / 1_000) === undefined
}

function timeProblem({ exp, nbf }: VerifiedClaims, nowSeconds: number): string | undefined {
  if (exp !== undefined && !(isTime(exp) && nowSeconds < exp)) return JWT_PROBLEMS.expired
  if (nbf !== undefined && !(isTime(nbf) && nowSeconds >= nbf)) return JWT_PROBLEMS.early
  return undefined
}

/** Returns whether a value is a finite number. JSON can express infinity: a token with an `exp` of 1e999 would never expire. */
function isTime(value: unknown): value is number {
  return Number.isFinite(value)
}

function toInvalid(reason: string): Verification {
  return { verdict: 'invalid', reason }
}

/** Returns the JSON object in one part of a token, or `undefined` if the part contains no JSON object. */
function parsePart(part: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = decodePart(part)
  if (bytes === undefined) return undefined
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Decodes one part of a token. Returns `undefined` unless it is canonical base64url. Node.js skips foreign characters, accepts
 * plain base64 and ignores surplus bits.
 */
function decodePart(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.length > 0 && bytes.toString('base64url') === part ? bytes : undefined
}

export type TokenRules = Pick<CompatibilityOptions, 'headBytesMax'>

/** Bytes reserved for the request line and all other headers. */
const OTHER_BYTES = 2_048
/** Bytes reserved for the header and the signature of a token, for every kind of key. */
const FRAME_BYTES = 1_024

/** The claims of a token that fits in a header, and the members of `user_metadata` that were removed to make it fit. */
interface FittedClaims {
  readonly claims: object
  /** Contains only the names, because the values are personal data. */
  readonly leftOut: readonly string[]
}

/** Returns the maximum size of the claims as JSON, in bytes, so that a request can carry the token. */
function claimsBytesMax({ headBytesMax }: TokenRules): number {
  // base64url encodes three bytes as four characters.
  return Math.floor(((headBytesMax - OTHER_BYTES - FRAME_BYTES) * 3) / 4)
}

/** Returns whether the claims fit in a header, at least without their `user_metadata`. */
export function canFit(rules: TokenRules, claims: object): boolean {
  return jsonBytes({ ...claims, user_metadata: {} }) <= claimsBytesMax(rules)
}

/**
 * The claims of a token that a request can carry. While the claims are too large, removes members of `user_metadata`, the longest
 * first. No server accepts a token that is too large. So the user could not even send the request to shorten the metadata.
 */
export function fitClaims(rules: TokenRules, claims: object): FittedClaims {
  const metadata: unknown = Reflect.get(claims, 'user_metadata')
  let excessBytes = jsonBytes(claims) - claimsBytesMax(rules)
  if (excessBytes <= 0 || typeof metadata !== 'object' || metadata === null) return { claims, leftOut: [] }
  const leftOut: string[] = []
  for (const [name, bytes] of longestFirst(metadata)) {
    if (excessBytes <= 0) break
    leftOut.push(name)
    excessBytes -= bytes
  }
  const names = new Set(leftOut)
  const kept = Object.entries(metadata).filter(([name]) => !names.has(name))
  return { claims: { ...claims, user_metadata: Object.fromEntries(kept) }, leftOut }
}

/** Returns the names of members, largest first, with the size of each member as JSON in bytes, without its comma. */
function longestFirst(members: object): readonly (readonly [name: string, bytes: number])[] {
  const sized = Object.entries(members).map(([name, value]) => [name, jsonBytes({ [name]: value }) - 2] as const)
  return sized.toSorted(([, a], [, b]) => b - a)
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
