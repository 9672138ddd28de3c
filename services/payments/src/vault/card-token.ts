import { z } from 'zod'
import type { TextSeal } from './text-seal.ts'

/** What a token stands for: a card number, or the security code of a card. */
export type TokenType = 'pcn' | 'pcsc'

/** What a client has in place of card data. It can be used by whoever holds it, until it is spent or too old. */
export interface CardToken {
  readonly value: string
  /** Names the token wherever it must not be told itself. */
  readonly jti: string
  readonly expires: Date
}

/** A token is of use, or its text is none, or it stands for the other kind of value. */
export type OpenedToken = { readonly token: CardToken } | { readonly flaw: 'invalid' | 'unexpected' }

const LIFETIMES_MS: Readonly<Record<TokenType, number>> = { pcn: 24 * 3_600_000, pcsc: 3_600_000 }
const JTI_BYTES = 16

const Content = z.object({ v: z.literal(1), value: z.string(), iat: z.number(), jti: z.string() })

interface Moment {
  readonly now: () => Date
  readonly randomBytes: (size: number) => Buffer
}

/** Seals a value into a token. Nothing is stored (reference: Vault). */
export function sealToken(
  tokens: TextSeal,
  { now, randomBytes }: Moment,
  { type, value }: { readonly type: TokenType; readonly value: string },
): string {
  const jti = randomBytes(JTI_BYTES).toString('base64url')
  return tokens.seal({ v: 1, type, value, iat: now().getTime(), jti }, placeOf(type))
}

/** Opens a token of a type. Whether it is too old is judged by whoever uses it: what it was once used for stays answered. */
export function openToken(tokens: TextSeal, text: string, type: TokenType): OpenedToken {
  const read = Content.safeParse(tokens.open(text, placeOf(type)))
  if (!read.success) return { flaw: tokens.open(text, placeOf(otherOf(type))) === undefined ? 'invalid' : 'unexpected' }
  const { value, iat, jti } = read.data
  return { token: { value, jti, expires: new Date(iat + LIFETIMES_MS[type]) } }
}

function placeOf(type: TokenType): string {
  return `vault/${type}`
}

function otherOf(type: TokenType): TokenType {
  return type === 'pcn' ? 'pcsc' : 'pcn'
}

/** Bytes that a request to the vault may have. */
export const VAULT_BODY_BYTES = 4_096

/** What is put into the vault: the number of a card or its security code. Check digits are judged when it is used. */
export const VaultBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('pcn'), value: z.string().regex(/^\d{10,19}$/) }),
  z.object({ type: z.literal('pcsc'), value: z.string().regex(/^\d{3}$/) }),
])

/** A token in place of it. */
export const VaultToken = z.object({ token: z.string() })
