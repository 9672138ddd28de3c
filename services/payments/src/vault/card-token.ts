import { z } from 'zod'
import type { CheckoutCiphers, TextCipher } from './encryption.ts'

/** The kind of card data behind a token: `pcn` for a card number, `pcsc` for the security code of a card. */
type TokenType = 'pcn' | 'pcsc'

/** A single-use token for card data. Anybody who has the token can use it until it is used or expires. */
export interface CardToken {
  readonly value: string
  /** Identifies the token in places that must not contain the token itself. */
  readonly jti: string
  readonly expires: Date
}

/** The result of decrypting a token. `unexpected`: the token contains another kind of value. */
export type DecryptedToken =
  | { readonly verdict: 'opened'; readonly token: CardToken }
  | { readonly verdict: 'invalid' | 'unexpected' }

const LIFETIMES_MS: Readonly<Record<TokenType, number>> = { pcn: 24 * 3_600_000, pcsc: 3_600_000 }
const JTI_BYTES = 16

const Content = z.object({ v: z.literal(1), value: z.string(), iat: z.number(), jti: z.string() })

interface Moment {
  readonly now: () => Date
  readonly randomBytes: (size: number) => Buffer
}

/** Encrypts a value into a token, without storing anything (reference: Vault). */
export function encryptToken(
  tokens: TextCipher,
  { now, randomBytes }: Moment,
  { type, value }: { readonly type: TokenType; readonly value: string },
): string {
  const jti = randomBytes(JTI_BYTES).toString('base64url')
  return tokens.encrypt({ v: 1, type, value, iat: now().getTime(), jti }, placeOf(type))
}

/** Decrypts a token. The caller checks its expiry: a finished payment keeps its answer after its tokens expire. */
export function decryptToken(tokens: TextCipher, text: string, type: TokenType): DecryptedToken {
  const read = Content.safeParse(tokens.decrypt(text, placeOf(type)))
  if (!read.success)
    return { verdict: tokens.decrypt(text, placeOf(otherOf(type))) === undefined ? 'invalid' : 'unexpected' }
  const { value, iat, jti } = read.data
  return { verdict: 'opened', token: { value, jti, expires: new Date(iat + LIFETIMES_MS[type]) } }
}

function placeOf(type: TokenType): string {
  return `vault/${type}`
}

function otherOf(type: TokenType): TokenType {
  return type === 'pcn' ? 'pcsc' : 'pcn'
}

/** The largest body of a request to the vault. */
export const VAULT_BODY_BYTES_MAX = 4_096

/** A card number or a security code. The check digit is verified when the card is used. */
export const VaultBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('pcn'), value: z.string().regex(/^\d{10,19}$/) }),
  z.object({ type: z.literal('pcsc'), value: z.string().regex(/^\d{3}$/) }),
])

type CardData = z.output<typeof VaultBody>

export const VaultToken = z.object({ token: z.string() })

/** Creates a token for card data, without storing anything (reference: Vault). */
export function tokenizeCard(
  deps: { readonly ciphers: CheckoutCiphers; readonly now: () => Date; readonly randomBytes: (size: number) => Buffer },
  data: CardData,
): z.input<typeof VaultToken> {
  return { token: encryptToken(deps.ciphers.tokens, deps, data) }
}
