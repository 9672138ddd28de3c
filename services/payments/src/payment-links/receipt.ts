import { z } from 'zod'
import { fingerprintOf } from '../access/fingerprint.ts'
import { decryptToken } from '../vault/card-token.ts'
import type { CheckoutCiphers, TextCipher } from '../vault/encryption.ts'
import type { PanVault } from '../vault/pan-vault.ts'
import { TokenizedCard } from './card-form.ts'

const Content = z.object({
  merchant: z.string(),
  test: z.boolean(),
  money: z.object({ currency: z.string(), amount: z.number() }),
  reference: z.string().nullable(),
  /** The purpose from the link. `null` if the link has none, or if an earlier release made the receipt. */
  text: z.string().nullable().default(null),
  last4: z.string(),
  transactionId: z.string(),
})

/** A customer's proof of a payment. */
export interface Receipt extends z.infer<typeof Content> {
  readonly paid: Date
}

/** Encrypts a receipt as text for the URL of its page. Anybody who has the URL can see the receipt, but nobody can forge one. */
export function encryptReceipt(frames: TextCipher, receipt: Omit<Receipt, 'paid'>, place?: CardPlace): string {
  return frames.encrypt(receipt, placeOf(place))
}

/** `undefined` unless this service encrypted the text for this place. The time of the payment is in the transaction id. */
export function decryptReceipt(frames: TextCipher, text: string, place?: CardPlace): Receipt | undefined {
  const { data } = Content.safeParse(frames.decrypt(text, placeOf(place)))
  return data && { ...data, paid: new Date(Number.parseInt(data.transactionId.slice(0, 8), 16) * 1_000) }
}

/**
 * Returns the place for which a receipt is encrypted. A receipt from a card page redirects to the address in the link. It is
 * therefore not accepted under another link.
 */
function placeOf(place: CardPlace | undefined): string {
  return place ? `receipt/${place.pageId}?${place.query}` : 'receipt'
}

const UnderWay = z.object({ card: TokenizedCard, expiry: z.string() })

/** A payment during which the customer is at the bank. The customer's browser keeps it, encrypted. */
export type UnderWay = z.output<typeof UnderWay>

/** The page on which the card was entered. Text encrypted for it is not accepted for another page or link. */
export interface CardPlace {
  readonly pageId: string
  readonly query: string
}

/** Encrypts a payment that is under way for a cookie. It can be decrypted only for the page and link of `place`. */
export function encryptUnderWay(frames: TextCipher, underWay: UnderWay, place: CardPlace): string {
  return frames.encrypt(underWay, cardPlace(place))
}

/** Decrypts a payment that is under way. Returns `undefined` unless this service encrypted the text for this place. */
export function decryptUnderWay(frames: TextCipher, text: string, place: CardPlace): UnderWay | undefined {
  return UnderWay.safeParse(frames.decrypt(text, cardPlace(place))).data
}

/**
 * Returns the fingerprint of a card and its link. It is compared when the idempotency key of a page is used again. The id of a
 * page appears in addresses and browser histories, so a paid page shows its receipt only for the card that paid.
 */
export function fingerprintOfCard(
  { ciphers, vault }: { readonly ciphers: Pick<CheckoutCiphers, 'tokens'>; readonly vault: Pick<PanVault, 'macs'> },
  query: string,
  { number, expiry }: TokenizedCard,
): Buffer {
  const opened = decryptToken(ciphers.tokens, number, 'pcn')
  const [mac] = opened.verdict === 'opened' ? vault.macs(opened.token.value) : []
  return fingerprintOf({ query, card: mac?.toString('base64url'), expiry })
}

function cardPlace({ pageId, query }: CardPlace): string {
  return `under-way/${pageId}?${query}`
}
