import { createHash, createHmac } from 'node:crypto'
import type { FlowKind } from '../flows/pkce.ts'
import { equalSecrets, type RandomBytes } from '../secrets/encrypted-secret.ts'

/** The purpose of a message with a secret. A user has one row per kind, for the latest message. */
export type TokenKind =
  | 'confirmation'
  | 'invitation'
  | 'recovery'
  | 'email_change_new'
  | 'email_change_current'
  | 'sms'
  | 'phone_change'
  | 'reauthentication'

const LINK_BYTES = 28
const CODE_BYTES = 16
const SALT_BYTES = 16
const PKCE_PREFIX = 'pkce_'

/** The secret of a mail link: 56 hexadecimal digits, with a prefix if the link belongs to a PKCE flow. */
export function generateLinkToken(randomBytes: RandomBytes, flow: FlowKind): string {
  return (flow === 'pkce' ? PKCE_PREFIX : '') + randomBytes(LINK_BYTES).toString('hex')
}

/** Whether a link token was made for a PKCE flow. */
export function isPkceToken(token: string): boolean {
  return token.startsWith(PKCE_PREFIX)
}

/** The stored hash of a link token. The token has enough entropy to need no salt. */
export function hashLinkToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Generates a decimal code with leading zeros. It uses 128 bits, so that the bias towards any of 10^10 codes is below 2^-94. */
export function generateCode(randomBytes: RandomBytes, digits: number): string {
  const number = BigInt(`0x${randomBytes(CODE_BYTES).toString('hex')}`)
  return (number % 10n ** BigInt(digits)).toString().padStart(digits, '0')
}

/**
 * Returns the stored hash of a code. It is keyed and salted, because a code has few digits.
 * @param identifier the normalised recipient, so that the code is wrong for any other address
 */
export function hashCode(serverKey: Buffer, salt: Buffer, identifier: string, code: string): Buffer {
  return createHmac('sha256', serverKey).update(salt).update(identifier).update('\0').update(code).digest()
}

/** The hash and the salt of a code, as stored. */
export interface CodeOfRow {
  /** The table allows `NULL`, which no code matches. */
  readonly codeHash: Buffer | null
  /** `null` for a code of supabase/auth, made before adoption. Its hash is SHA-224 of address and code. */
  readonly codeSalt: Buffer | null
}

/** Takes the same time if the row has no hash. @param keys the keys that may have made the hash */
export function matchesCode(
  keys: readonly Buffer[],
  { codeHash, codeSalt }: CodeOfRow,
  { identifier, code }: { readonly identifier: string; readonly code: string },
): boolean {
  const hashes =
    codeSalt === null
      ? [createHash('sha224').update(identifier).update(code).digest()]
      : keys.map((key) => hashCode(key, codeSalt, identifier, code))
  return hashes.some((hash) => equalSecrets(codeHash ?? Buffer.alloc(hash.length), hash)) && codeHash !== null
}

/** Generates the salt of a code, so that equal codes have different hashes. */
export function generateSalt(randomBytes: RandomBytes): Buffer {
  return randomBytes(SALT_BYTES)
}
