import { createHash, createHmac } from 'node:crypto'
import { equalSecrets } from '../secrets/equal-secrets.ts'
import { type EncryptionKeys, readUpstreamSecret } from '../secrets/sealed-secret.ts'

const KEY_BYTES = 32
const VERSION_BYTES = 1
const ID_BYTES = 16
const SIGNATURE_BYTES = 16
const CHECKSUM_BYTES = 4
const COUNTER_BYTES_MAX = 9
const LOW_BITS = 0x7fn

/** The session of a refresh token of the second form, which supabase/auth stores nowhere: it follows from these values. */
export interface UpstreamSession {
  readonly id: string
  /** `sessions.refresh_token_hmac_key`: base64url, or sealed. */
  readonly hmacKey: string
  /** The counter of the newest token, from 0. */
  readonly counter: bigint
}

/**
 * The refresh tokens of a session of the second form: the current token, and its parent, which a client that lost an answer
 * still has.
 * @returns undefined where the key of the session is sealed, and no key of the service opens it, or where it is shorter than the
 * keys that supabase/auth makes: a reader of the session's row could compute its tokens
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

/**
 * The session and the counter that a token of the second form names; undefined for any other text. Its
 * signature is not checked.
 */
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

/** Whether a token of the second form is one that its session has had before the newest. */
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

/** Version 0, session, counter, signature and checksum. */
function encodeToken(key: Buffer, sessionId: string, counter: bigint): string {
  const session = Buffer.from(sessionId.replaceAll('-', ''), 'hex')
  const content = Buffer.concat([Buffer.of(0), session, toVarint(counter)])
  const signature = createHmac('sha256', key).update(content).digest().subarray(0, SIGNATURE_BYTES)
  const signed = Buffer.concat([content, signature])
  const checksum = createHash('sha256').update(signed).digest().subarray(0, CHECKSUM_BYTES)
  return Buffer.concat([signed, checksum]).toString('base64url')
}

/** Seven bits a byte, the lowest first; all bytes but the last have the highest bit. */
function toVarint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > LOW_BITS; rest >>= 7n) bytes.push(Number(rest & LOW_BITS) | 0x80)
  return Buffer.from([...bytes, Number(rest)])
}
