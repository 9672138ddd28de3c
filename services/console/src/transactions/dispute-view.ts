import { z } from 'zod'

const Dispute = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  transactionId: z.string(),
  created: z.string(),
  amount: z.int(),
  currency: z.string(),
  reason: z.object({ code: z.int(), title: z.string() }),
  due: z.string(),
  status: z.enum(['open', 'won', 'lost']),
  resolved: z.string().optional(),
})
/** A dispute as payments shows it (payments reference: Other objects). */
export type Dispute = z.infer<typeof Dispute>

const Fraud = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  transactionId: z.string(),
  created: z.string(),
  reported: z.string().optional(),
  reason: z.int().optional(),
})
/** A fraud alert as payments shows it. */
export type Fraud = z.infer<typeof Fraud>

/** A page of disputes. */
export const DisputesView = z.object({ disputes: z.array(Dispute) })
/** A page of fraud alerts. */
export const FraudsView = z.object({ frauds: z.array(Fraud) })

/** Where disputes are listed. */
export const DISPUTES_PATH = '/disputes'
/** Where fraud alerts are listed. */
export const FRAUDS_PATH = '/frauds'
