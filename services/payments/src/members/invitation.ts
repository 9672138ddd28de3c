import { createHash } from 'node:crypto'

/** An invitation that was found by the token of its link. */
export interface Invitation {
  readonly merchantId: string
  /** The name of the merchant, or the host of its website. */
  readonly merchant: string
  readonly email: string
  /** The name of the app or user who invited; null when they have none. */
  readonly inviter: string | null
  readonly state: 'open' | 'accepted' | 'expired'
}

const TOKEN_BYTES = 32

/** A new token: the secret of one link, 43 characters of base64url. */
export function generateToken(randomBytes: (size: number) => Buffer): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** The digest under which a token is stored, 32 bytes. A token is random, so the digest needs no key. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
