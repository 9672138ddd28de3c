import { z } from 'zod'
import type { Fraud } from './fraud.ts'

/** The JSON of a fraud alert, the same in lists and alone (reference: Other objects). */
export const FraudView = z
  .object({
    id: z.string(),
    merchantId: z.string(),
    transactionId: z.string(),
    created: z.iso.datetime(),
    reported: z.iso.datetime().optional(),
    reason: z.int().min(0).max(8).optional(),
  })
  .meta({ id: 'FraudAlert' })

/** Makes the JSON of a fraud alert, without what was not reported. */
export function viewFraud({
  id,
  merchantId,
  transactionId,
  created,
  reported,
  reason,
}: Fraud): z.infer<typeof FraudView> {
  return {
    id,
    merchantId,
    transactionId,
    created: created.toISOString(),
    ...(reported === null ? {} : { reported: reported.toISOString() }),
    ...(reason === null ? {} : { reason }),
  }
}
