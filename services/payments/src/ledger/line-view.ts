import { z } from 'zod'
import type { LineKind } from './ledger-tables.ts'
import type { Line } from './line.ts'

const flag = () => z.literal(true).optional()

/** The JSON of a line, the same in lists and alone. One flag says what the line is (reference: Line object). */
export const LineView = z
  .object({
    id: z.string(),
    merchantId: z.string(),
    test: z.boolean(),
    created: z.iso.datetime(),
    balance: z.int(),
    fee: z.int().optional(),
    balanceAfter: z.int(),
    description: z.string().optional(),
    transactionId: z.string().optional(),
    amount: z.object({ currency: z.string(), amount: z.int() }).optional(),
    capture: flag(),
    refund: flag(),
    dispute: flag(),
    payout: flag(),
    payoutReversal: flag(),
    adjustment: flag(),
    fundingCurrency: z.string().optional(),
  })
  .meta({ id: 'Line' })

const KINDS_WITH_FEE: ReadonlySet<LineKind> = new Set(['capture', 'refund', 'dispute'])

/** Makes the JSON of a line. JSON leaves out undefined fields. */
export function viewLine({ kind, amount, currency, ...line }: Line): z.infer<typeof LineView> {
  return {
    id: line.id,
    merchantId: line.merchantId,
    test: line.test,
    created: line.created.toISOString(),
    balance: Number(line.balance),
    fee: KINDS_WITH_FEE.has(kind) ? Number(line.fee) : undefined,
    balanceAfter: Number(line.balanceAfter),
    description: line.description ?? undefined,
    transactionId: line.transactionId ?? undefined,
    amount: amount === null || currency === null ? undefined : { currency, amount: Number(amount) },
    [kind]: true,
    fundingCurrency: line.formerCurrency ?? undefined,
  }
}
