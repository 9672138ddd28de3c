import { z } from 'zod'
import type { AttemptForOperator } from './operator-attempt-repository.ts'

export const AttemptView = z.object({
  id: z.string(),
  merchantId: z.string(),
  created: z.iso.datetime(),
  amount: z.int(),
  currency: z.string(),
  acquirer: z.string().optional().describe('Absent: the simulator'),
  state: z.enum(['sent', 'approved', 'declined', 'unknown', 'reversed']),
  transactionId: z.string().optional().describe('Of a payment by a customer'),
})

export function viewAttempt({
  created,
  acquirer,
  transactionId,
  ...attempt
}: AttemptForOperator): z.infer<typeof AttemptView> {
  return {
    ...attempt,
    created: created.toISOString(),
    acquirer: acquirer ?? undefined,
    transactionId: transactionId ?? undefined,
  }
}
