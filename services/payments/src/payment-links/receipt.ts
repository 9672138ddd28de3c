import { z } from 'zod'
import type { TextCipher } from '../vault/encryption.ts'
import type { CardPlace } from './under-way.ts'

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
