import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject } from 'node:crypto'

const TOKEN_LENGTH = 32

/** The random part of the first token of a session. */
export const FIRST_TOKEN_BYTES = 24

/** The form of a refresh token. Any other text is refused before the database is asked. */
export const REFRESH_TOKEN_PATTERN = /^[A-Za-z0-9_-]{12,}$/

/** The key of `deriveChildToken`. A new JWT_SECRET changes the children of all tokens, but the tokens themselves stay valid. */
export function deriveRefreshTokenKey(jwtSecret: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', jwtSecret, '', 'refresh-token-v1', 32)))
}

/** The first token of a session, from 24 random bytes. */
export function firstRefreshToken(random: Buffer): string {
  return random.toString('base64url')
}

/**
 * The token that follows `parent`. Clients that refresh with the same token at the same time get the same
 * child, although no token is stored in the clear (reference: Refresh tokens).
 * @param number of the child; where spent tokens branch, a token has more than one
 */
export function deriveChildToken(key: KeyObject, parent: string, number = 0): string {
  return createHmac('sha256', key)
    .update(number === 0 ? parent : `${parent}#${number}`)
    .digest('base64url')
    .slice(0, TOKEN_LENGTH)
}

/** The hash of a token, as the database stores it. Tokens have 192 bits of entropy, so no salt is needed. */
export function hashRefreshToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
