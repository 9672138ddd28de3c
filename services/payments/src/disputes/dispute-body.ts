import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { amount } from '../requests/fields.ts'
import { DEFAULT_REASON, DISPUTE_REASONS, reasonTitle } from './dispute.ts'
import type { NewDispute } from './dispute-repository.ts'

const reasonCode = z
  .int()
  .refine((code) => reasonTitle(code) !== undefined, { error: FIELD_TEXTS.notReason, params: { code: 'UNKNOWN' } })
  .meta({ enum: DISPUTE_REASONS.map(({ code }) => code) })

/** A new dispute, as requests name it (reference: Test endpoints). */
export const DisputeBody = z.object({
  amount: amount().optional(),
  reason: z.object({ code: reasonCode.optional() }).optional(),
})

/** The dispute that a request asks for. A reason that it does not give is the default one. */
export function toNewDispute({ amount, reason }: z.output<typeof DisputeBody>): NewDispute {
  const code = reason?.code ?? DEFAULT_REASON.reasonCode
  return { amount, reasonCode: code, reasonTitle: reasonTitle(code) ?? '' }
}
