import { createHash } from 'node:crypto'

/** An invitation, found by the token in its link. */
export interface Invitation {
  readonly merchantId: string
  /** The name of the merchant, or the host of its website. */
  readonly merchant: string
  readonly email: string
  /** The name of the inviting app or user. `null` if it has no name. */
  readonly inviter: string | null
  readonly state: 'open' | 'accepted' | 'expired'
}

const TOKEN_BYTES = 32

/** Returns a new token, the secret of one link: 43 characters of base64url. */
export function generateToken(randomBytes: (size: number) => Buffer): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** Returns the digest under which a token is stored, 32 bytes. The digest needs no key, because a token is random. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
