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
  /** The subject of the payment, as the link says it. Null: the link says none, or an earlier release made the receipt. */
  text: z.string().nullable().default(null),
  last4: z.string(),
  transactionId: z.string(),
})

/** A customer's proof of a payment. */
export interface Receipt extends z.infer<typeof Content> {
  readonly paid: Date
}

/**
 * A receipt encrypted as text for the address of its page. Anybody with the address sees the receipt, and nobody can forge
 * one.
 */
export function encryptReceipt(frames: TextCipher, receipt: Omit<Receipt, 'paid'>, place?: CardPlace): string {
  return frames.encrypt(receipt, placeOf(place))
}

/** Undefined unless this service encrypted the text for this place. The id of a transaction tells when it was paid. */
export function decryptReceipt(frames: TextCipher, text: string, place?: CardPlace): Receipt | undefined {
  const { data } = Content.safeParse(frames.decrypt(text, placeOf(place)))
  return data && { ...data, paid: new Date(Number.parseInt(data.transactionId.slice(0, 8), 16) * 1_000) }
}

/**
 * The place that a receipt is encrypted for. A receipt of a card that was entered redirects as its link says, so it is not
 * accepted under another link.
 */
function placeOf(place: CardPlace | undefined): string {
  return place ? `receipt/${place.pageId}?${place.query}` : 'receipt'
}

const UnderWay = z.object({ card: TokenizedCard, expiry: z.string() })

/** A payment whose customer is at the bank. The customer's browser keeps it, encrypted. */
export type UnderWay = z.output<typeof UnderWay>

/** The page where the card was entered. It is not accepted for another page or another link. */
export interface CardPlace {
  /** Names a rendering of the page. */
  readonly pageId: string
  /** The query of its link. */
  readonly query: string
}

/** Encrypts a payment that is under way for the cookie of a browser. Only the page and link of `place` open it. */
export function encryptUnderWay(frames: TextCipher, underWay: UnderWay, place: CardPlace): string {
  return frames.encrypt(underWay, cardPlace(place))
}

/** Undefined unless this service encrypted the text for this place. */
export function decryptUnderWay(frames: TextCipher, text: string, place: CardPlace): UnderWay | undefined {
  return UnderWay.safeParse(frames.decrypt(text, cardPlace(place))).data
}

/**
 * The same card under the same link, as the body that the key of a page is compared with. The id of a page stands in addresses
 * and histories, so a page that was paid shows its receipt only for the card that has paid.
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
