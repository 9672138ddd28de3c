import { z } from 'zod'

/** A card that is saved for a merchant under its own id. Deprecated: charge from a previous transaction instead. */
export interface Card {
  readonly id: string
  readonly merchantId: string
  readonly bin: string
  readonly last4: string
  /** The last instant at which the card is valid. */
  readonly expiry: Date
  readonly scheme: string
  readonly notes: string | null
  /** `null` for every card, because cards are never deleted. The official client expects the field. */
  readonly deleted: Date | null
  readonly created: Date
}

/** A saved card in an answer (reference: Other objects). */
export const CardView = z
  .object({
    id: z.string(),
    merchantId: z.string(),
    created: z.iso.datetime(),
    bin: z.string(),
    last4: z.string(),
    expiry: z.iso.datetime(),
    scheme: z.string(),
    notes: z.string().nullable(),
    deleted: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Card' })

/** Converts a saved card to JSON. `notes` and `deleted` are `null` instead of absent, because the official client expects them */
export function viewCard({ created, expiry, deleted, ...card }: Card): z.infer<typeof CardView> {
  const { id, merchantId, bin, last4, scheme, notes } = card
  return {
    id,
    merchantId,
    created: created.toISOString(),
    bin,
    last4,
    expiry: expiry.toISOString(),
    scheme,
    notes,
    deleted: deleted?.toISOString() ?? null,
  }
}
