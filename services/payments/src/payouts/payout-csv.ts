import { writeCsv } from '../ledger/csv.ts'
import type { BankTransfer } from './pain-001.ts'

const HEADER = ['payout', 'merchant', 'name', 'iban', 'currency', 'amount_minor']

/** Transfers that SEPA does not carry, for whoever makes them by other means. */
export function writePayoutCsv(transfers: readonly BankTransfer[]): string {
  return writeCsv([
    HEADER,
    ...transfers.map(({ payoutId, merchantId, merchantName, iban, currency, amount }) => [
      ...[payoutId, merchantId, { text: merchantName }, iban, currency, amount.toString()],
    ]),
  ])
}
