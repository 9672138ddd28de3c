import { z } from 'zod'
import type { CheckoutCiphers, TextCipher } from './encryption.ts'

/** The kind of card data behind a token. `pcn`: a card number. `pcsc`: the security code of a card. */
type TokenType = 'pcn' | 'pcsc'

/** A single-use token in place of card data. Anybody who has the token can use it, until it is spent or too old. */
export interface CardToken {
  readonly value: string
  /** Identifies the token where the token itself must not be shown. */
  readonly jti: string
  readonly expires: Date
}

/** A token, or why the text is refused. `unexpected`: the token stands for another kind of value. */
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

/** Encrypts a value into a token. Nothing is stored (reference: Vault). */
export function encryptToken(
  tokens: TextCipher,
  { now, randomBytes }: Moment,
  { type, value }: { readonly type: TokenType; readonly value: string },
): string {
  const jti = randomBytes(JTI_BYTES).toString('base64url')
  return tokens.encrypt({ v: 1, type, value, iat: now().getTime(), jti }, placeOf(type))
}

/** Opens a token of a type. The caller judges its age: a payment that ended keeps its answer after its tokens are too old. */
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

/** A card number or its security code. The check digit is judged when the card is used. */
export const VaultBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('pcn'), value: z.string().regex(/^\d{10,19}$/) }),
  z.object({ type: z.literal('pcsc'), value: z.string().regex(/^\d{3}$/) }),
])

type CardData = z.output<typeof VaultBody>

/** The token in place of the card data. */
export const VaultToken = z.object({ token: z.string() })

/** Makes a token for card data. Nothing is stored (reference: Vault). */
export function tokenizeCard(
  deps: { readonly ciphers: CheckoutCiphers; readonly now: () => Date; readonly randomBytes: (size: number) => Buffer },
  data: CardData,
): z.input<typeof VaultToken> {
  return { token: encryptToken(deps.ciphers.tokens, deps, data) }
}
