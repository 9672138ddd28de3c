import { z } from 'zod'
import { Amount } from '../pages/money.ts'
import type { OperatorCalls } from '../service-calls/operator-calls.ts'

const Reason = z.object({ code: z.int(), title: z.string() })

const Dispute = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  transactionId: z.string(),
  created: z.string(),
  amount: Amount,
  currency: z.string(),
  /** The part of the amount that exceeds the captured money after refunds. */
  excess: Amount.optional(),
  reason: Reason,
  due: z.string(),
  status: z.enum(['open', 'won', 'lost']),
  resolved: z.string().optional(),
})
/** A dispute in the form of payments (payments reference: Other objects). */
export type Dispute = z.infer<typeof Dispute>

const Fraud = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  transactionId: z.string(),
  created: z.string(),
  reported: z.string().optional(),
  reason: z.int().optional(),
})
export type Fraud = z.infer<typeof Fraud>

export const DisputeView = z.object({ dispute: Dispute })
export const DisputesView = z.object({ disputes: z.array(Dispute) })
export const FraudsView = z.object({ frauds: z.array(Fraud) })

export const DISPUTES_PATH = '/disputes'
export const FRAUDS_PATH = '/frauds'

export function disputePath(id: string): string {
  return `${DISPUTES_PATH}/${encodeURIComponent(id)}`
}

export const DISPUTE_TONES = { open: 'warn', won: 'good', lost: 'bad' } as const satisfies Record<
  Dispute['status'],
  string
>

const Reasons = z.object({ disputes: z.array(Reason), frauds: z.array(Reason) })
/** The reasons of disputes and fraud alerts, as payments lists them. */
export type Reasons = z.infer<typeof Reasons>

export async function readReasons(calls: Pick<OperatorCalls, 'read'>): Promise<Reasons> {
  return (await calls.read('payments', '/operator/reasons', Reasons)).value
}

/** Returns the title of a fraud alert's reason. Empty if the scheme gave none. Shows the code if it is unknown. */
export function fraudReason({ reason }: Pick<Fraud, 'reason'>, { frauds }: Pick<Reasons, 'frauds'>): string {
  if (reason === undefined) return ''
  return frauds.find(({ code }) => code === reason)?.title ?? `Reason ${reason}`
}
