import { z } from 'zod'

/** A card that is saved for a merchant under an id of its own. Deprecated: charge from a previous transaction instead. */
export interface Card {
  readonly id: string
  readonly merchantId: string
  readonly bin: string
  readonly last4: string
  /** Last instant at which the card is valid. */
  readonly expiry: Date
  readonly scheme: string
  readonly notes: string | null
  /** Null for every card, because nothing deletes one. The official client expects the field. */
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

/** The JSON of a saved card. Absent notes and deletion are null, as the official client expects. */
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
