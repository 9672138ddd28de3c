import { createHash, createHmac, createSecretKey, hash, hkdfSync, type KeyObject } from 'node:crypto'
import { HttpError, withHeaders } from '@trestle/common/errors/define-error.ts'
import type { AssuranceLevel, AuthenticationMethod } from '../access-tokens/access-token.ts'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { listedSessionNotFound, sessionNotFound, tokenUserNotFound } from '../errors.ts'
import type { Timestamp } from '../records/timestamp.ts'
import { type EncryptionKeys, equalSecrets, readUpstreamSecret } from '../secrets/encrypted-secret.ts'
import type { Profile } from '../users/profile-repository.ts'

/** How a session began: the first entry of its `amr` (reference: Access tokens). */
export type SignInMethod =
  | 'password'
  | 'otp'
  | 'oauth'
  | 'anonymous'
  | 'magiclink'
  | 'recovery'
  | 'invite'
  | 'email/signup'
  | 'email_change'
  | 'phone_change'
  | 'passkey'

/** The client that requests a session, as stored in the session's row. */
export interface SessionOrigin {
  /** At most 512 characters. `null` if the request has none. */
  readonly userAgent: string | null
  /** A valid IP address, or an empty string. */
  readonly ip: string
}

/** A session with all values of its tokens, without the refresh token in clear. */
export interface StoredSession extends Profile {
  readonly sessionId: string
  readonly aal: AssuranceLevel
  /** The time of the sign-in. */
  readonly startedAt: Timestamp
  /** Newest first. */
  readonly amr: readonly AuthenticationMethod[]
}

/** A session whose tokens are about to be returned. Only now is the refresh token known in clear. */
export interface IssuedSession extends StoredSession {
  readonly refreshToken: string
}

export function requireSession<Found>(session: Found | undefined): Found {
  if (session === undefined) refuseMissingSession()
  return session
}

export function requireListedSession(ended: number): void {
  if (ended === 0) throw listedSessionNotFound()
}

export function refuseMissingUser(): never {
  throw tokenUserNotFound()
}

export function refuseMissingSession(): never {
  throw sessionNotFound()
}

const TOKEN_LENGTH = 32

/** The number of random bytes in the first token of a session. */
export const FIRST_TOKEN_BYTES = 24

/** The format of a refresh token. Any other text is refused before the database is queried. */
export const REFRESH_TOKEN_PATTERN = /^[A-Za-z0-9_-]{12,}$/

/** The key of `deriveChildToken`. A new JWT_SECRET changes the children of all tokens, but the tokens stay valid. */
export function deriveRefreshTokenKey(jwtSecret: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', jwtSecret, '', 'refresh-token-v1', 32)))
}

/** The first token of a session, from 24 random bytes. */
export function firstRefreshToken(random: Buffer): string {
  return random.toString('base64url')
}

/**
 * Derives the token that follows `parent`. Clients that refresh with the same token at the same time get the same child, although
 * no token is stored in clear (reference: Refresh tokens).
 * @param number of the child, because a spent token may have several children
 */
export function deriveChildToken(key: KeyObject, parent: string, number = 0): string {
  return createHmac('sha256', key)
    .update(number === 0 ? parent : `${parent}#${number}`)
    .digest('base64url')
    .slice(0, TOKEN_LENGTH)
}

/** The hash of a token, as stored in the database. Tokens have 192 bits of entropy, so no salt is needed. */
export function hashRefreshToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The number of characters of a refresh token that supabase/auth shows in its logs. */
const PREFIX_LENGTH = 5

/** The session of an answer, and its user. A refusal may know only the user. */
export interface AnsweredSession {
  readonly userId: string
  readonly sessionId?: string | undefined
  readonly refreshToken?: string | undefined
}

/** The headers by which gateways and logs identify a session in the profile supabase. */
export function sessionHeaders({ userId, sessionId, refreshToken }: AnsweredSession): Record<string, string> {
  return {
    'sb-auth-user-id': userId,
    ...(sessionId !== undefined && { 'sb-auth-session-id': sessionId }),
    ...(refreshToken !== undefined && { 'sb-auth-refresh-token-prefix': refreshToken.slice(0, PREFIX_LENGTH) }),
  }
}

/**
 * The header of a refresh in the profile supabase. It is sent only with a new refresh token, not with a token that the client may
 * already have.
 */
export function refreshHeaders(
  { sendSessionHeaders: areSent }: Pick<CompatibilityOptions, 'sendSessionHeaders'>,
  { isNewToken }: { readonly isNewToken: boolean },
): Record<string, string> {
  return areSent && isNewToken ? { 'sb-auth-refresh-token-reuse': 'false' } : {}
}

/** Adds to an error the session that the request had found or created. Only the profile supabase sends this. */
export function nameInError(
  { sendSessionHeaders: areSent }: Pick<CompatibilityOptions, 'sendSessionHeaders'>,
  error: unknown,
  named: AnsweredSession,
): unknown {
  return areSent && error instanceof HttpError ? withHeaders(error, sessionHeaders(named)) : error
}

const KEY_BYTES = 32
const VERSION_BYTES = 1
const ID_BYTES = 16
const SIGNATURE_BYTES = 16
const CHECKSUM_BYTES = 4
const COUNTER_BYTES_MAX = 9
const LOW_BITS = 0x7fn

/** The session of a refresh token of the second form. supabase/auth derives such tokens from these values. */
export interface UpstreamSession {
  readonly id: string
  /** `sessions.refresh_token_hmac_key`: base64url, or encrypted. */
  readonly hmacKey: string
  /** The counter of the newest token, starting at 0. */
  readonly counter: bigint
}

/**
 * Derives the refresh tokens of a session of the second form: the current token, and its parent, which a client that lost an
 * answer still has.
 * @returns `undefined` if no key of the service decrypts the session's key, or if that key is so short that a reader of the row
 * could compute tokens
 */
export function deriveUpstreamTokens(
  keys: EncryptionKeys,
  session: UpstreamSession,
): { readonly current: string; readonly parent: string | undefined } | undefined {
  const key = readKey(keys, session)
  if (key === undefined) return undefined
  const { id, counter } = session
  return {
    current: encodeToken(key, id, counter),
    parent: counter > 0n ? encodeToken(key, id, counter - 1n) : undefined,
  }
}

/** The session and the counter in a token of the second form, or `undefined` for other texts. Checks no signature. */
export function parseUpstreamToken(
  token: string,
): { readonly sessionId: string; readonly counter: bigint } | undefined {
  const bytes = Buffer.from(token, 'base64url')
  const counter = bytes.subarray(VERSION_BYTES + ID_BYTES, -SIGNATURE_BYTES - CHECKSUM_BYTES)
  if (bytes[0] !== 0 || counter.length === 0 || counter.length > COUNTER_BYTES_MAX) return undefined
  const id = bytes.subarray(VERSION_BYTES, VERSION_BYTES + ID_BYTES).toString('hex')
  return {
    sessionId: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    counter: counter.reduceRight((sum, byte) => (sum << 7n) | (BigInt(byte) & LOW_BITS), 0n),
  }
}

/** Whether a token of the second form is an earlier token of its session. */
export function isUpstreamAncestor(keys: EncryptionKeys, session: UpstreamSession, token: string): boolean {
  const counter = parseUpstreamToken(token)?.counter
  const key = readKey(keys, session)
  if (counter === undefined || key === undefined || counter >= session.counter) return false
  return equalSecrets(encodeToken(key, session.id, counter), token)
}

function readKey(keys: EncryptionKeys, { id, hmacKey }: UpstreamSession): Buffer | undefined {
  const text = readUpstreamSecret(keys, id, hmacKey)
  const key = text === undefined ? undefined : Buffer.from(text, 'base64url')
  return key === undefined || key.length < KEY_BYTES ? undefined : key
}

/** Encodes version 0, session, counter, signature and checksum. */
function encodeToken(key: Buffer, sessionId: string, counter: bigint): string {
  const session = Buffer.from(sessionId.replaceAll('-', ''), 'hex')
  const content = Buffer.concat([Buffer.of(0), session, toVarint(counter)])
  const signature = createHmac('sha256', key).update(content).digest().subarray(0, SIGNATURE_BYTES)
  const signed = Buffer.concat([content, signature])
  const checksum = createHash('sha256').update(signed).digest().subarray(0, CHECKSUM_BYTES)
  return Buffer.concat([signed, checksum]).toString('base64url')
}

/** Encodes seven bits per byte, lowest bits first. All bytes except the last have the highest bit set. */
function toVarint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > LOW_BITS; rest >>= 7n) bytes.push(Number(rest & LOW_BITS) | 0x80)
  return Buffer.from([...bytes, Number(rest)])
}
