import { createHash } from 'node:crypto'

/** An invitation that was found by the token of its link. */
export interface Invitation {
  /** The name of the merchant, or its website. */
  readonly merchant: string
  readonly email: string
  /** Who invited: the name of an app or a person, or null where that has none. */
  readonly inviter: string | null
  readonly state: 'open' | 'accepted' | 'expired'
}

const TOKEN_BYTES = 32

/** A new token: the secret of one link. */
export function drawToken(randomBytes: (size: number) => Buffer): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** Under which a token is kept: it is random, so a digest without a key is enough. 32 bytes. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
