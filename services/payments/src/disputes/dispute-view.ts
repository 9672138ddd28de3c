import { z } from 'zod'
import type { Dispute } from './dispute.ts'

/** The JSON of a dispute, the same in lists and alone (reference: Other objects). */
export const DisputeView = z
  .object({
    id: z.string(),
    merchantId: z.string(),
    transactionId: z.string(),
    created: z.iso.datetime(),
    amount: z.int(),
    currency: z.string(),
    excess: z.int().optional(),
    reason: z.object({ code: z.int(), title: z.string() }),
    due: z.iso.datetime(),
    status: z.enum(['open', 'won', 'lost']),
    resolved: z.iso.datetime().optional(),
  })
  .meta({ id: 'Dispute' })

/** Makes the JSON of a dispute. An open dispute has no `resolved`, and a dispute without an excess has no `excess`. */
export function viewDispute(dispute: Dispute): z.infer<typeof DisputeView> {
  const { id, merchantId, transactionId, created, amount, currency, excess, reason, due, status, resolved } = dispute
  return {
    id,
    merchantId,
    transactionId,
    created: created.toISOString(),
    amount: Number(amount),
    currency,
    ...(excess === 0n ? {} : { excess: Number(excess) }),
    reason: { code: reason.code, title: reason.title },
    due: due.toISOString(),
    status,
    ...(resolved === null ? {} : { resolved: resolved.toISOString() }),
  }
}
