import { z } from 'zod'
import type { LineKind } from './ledger-tables.ts'

/**
 * A change of a merchant's balance. `balance`, `fee` and `balanceAfter` are in minor units of `formerCurrency` if it is set,
 * otherwise of the merchant's present currency.
 */
export interface Line {
  readonly id: string
  readonly merchantId: string
  readonly test: boolean
  readonly created: Date
  readonly kind: LineKind
  readonly balance: bigint
  readonly fee: bigint
  readonly balanceAfter: bigint
  readonly description: string | null
  readonly transactionId: string | null
  /** Minor units of `currency`, the currency of the transaction. `null` for payouts and adjustments. */
  readonly amount: bigint | null
  readonly currency: string | null
  /** The currency of the merchant at the time of the line. `null` if it is the present currency. */
  readonly formerCurrency: string | null
}

const flag = () => z.literal(true).optional()

/** The JSON of a line, both in lists and as a single object. One flag names the kind of the line (reference: Line object). */
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
