/** An entry of a trail as the statements build it. */
export interface TrailRow {
  readonly id: string
  readonly kind: string
  readonly created: string
  readonly amount: number
  readonly balance: number
  readonly feeFlat: number
  readonly feeRate: number
  readonly descriptor: string
  readonly reference: string | null
  readonly lineId: string | null
  readonly rate: string | null
  readonly rateDate: string | null
}

/** A transaction with its card, as the statements of the reference read it. */
export interface TransactionRow {
  readonly id: string
  readonly merchant_id: string
  readonly test: boolean
  readonly created: string
  readonly currency: string
  readonly amount: number
  readonly descriptor: string
  readonly reference: string | null
  readonly pending: number
  readonly captured: number
  readonly refunded: number
  readonly voided: number
  readonly disputed: number
  readonly code_present: boolean
  readonly custom: unknown
  readonly tds: string | null
  readonly recurring: boolean
  readonly error_code: number | null
  readonly plan: unknown
  readonly unplanned: unknown
  readonly source_id: string | null
  readonly bin: string
  readonly last4: string
  readonly scheme: string | null
  readonly expiry: string
  readonly trail: readonly TrailRow[] | null
}

/** The additions of a capture to the row. */
export interface CapturedRow extends TransactionRow {
  readonly entry_id: string
  readonly line_id: string
  readonly moment: string
  readonly gross: number
  readonly effect: number
  readonly fee: number
  readonly flat: number
}

/** The transaction as the service shows it (payments reference: Transaction object). JSON drops undefined members. */
export function transactionView(row: TransactionRow, added: readonly TrailRow[] = []): object {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    test: row.test,
    created: row.created,
    currency: row.currency,
    amount: row.amount,
    descriptor: row.descriptor,
    reference: row.reference ?? undefined,
    pendingAmount: row.pending,
    capturedAmount: row.captured,
    refundedAmount: row.refunded,
    voidedAmount: row.voided,
    disputedAmount: row.disputed,
    card: {
      bin: row.bin,
      last4: row.last4,
      expiry: row.expiry,
      scheme: row.scheme ?? undefined,
      code: { present: row.code_present },
    },
    custom: row.custom ?? undefined,
    tds: row.tds ?? undefined,
    recurring: row.recurring,
    successful: row.error_code === null,
    error: row.error_code !== null,
    plan: row.plan ?? undefined,
    unplanned: row.unplanned ?? undefined,
    sourceTransactionId: row.source_id ?? undefined,
    trail: [...(row.trail ?? []), ...added].map(entryView),
  }
}

/** The trail entry of a capture, which the capture's own statement does not see yet. */
export function captureEntry(row: CapturedRow): TrailRow {
  return {
    id: row.entry_id,
    kind: 'capture',
    created: row.moment,
    amount: row.gross,
    balance: row.effect,
    feeFlat: row.flat,
    feeRate: row.fee,
    descriptor: row.descriptor,
    reference: null,
    lineId: row.line_id,
    rate: null,
    rateDate: null,
  }
}

function entryView(entry: TrailRow) {
  return {
    id: entry.id,
    [entry.kind]: true,
    created: entry.created,
    amount: entry.amount,
    balance: entry.balance,
    fee: { flat: entry.feeFlat, rate: entry.feeRate },
    descriptor: entry.descriptor,
    reference: entry.reference ?? undefined,
    lineId: entry.lineId ?? undefined,
    exchange: entry.rate === null ? undefined : { rate: entry.rate, date: entry.rateDate },
  }
}
