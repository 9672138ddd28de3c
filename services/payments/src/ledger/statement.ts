import { formatAmount } from '../money/minor-units.ts'
import { writeCsv } from './csv.ts'
import type { Line } from './line.ts'

/** Whole days in UTC, both included, such as `2026-03-01`. */
export interface StatementPeriod {
  readonly from: string
  readonly to: string
}

const DAY_MS = 86_400_000

/** The number of days of a period. Less than 1 when it ends before it begins. */
export function daysOf({ from, to }: StatementPeriod): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
}

/** The last second that the first 8 digits of an id can hold, in the year 2106. */
const SECONDS_MAX = 0xffffffff

/** The exclusive bounds of the ids of the period's lines. An id begins with the seconds of its creation. */
export function idsOf({ from, to }: StatementPeriod): { readonly above: string; readonly below: string } {
  const firstDigits = (ms: number) =>
    clamp(Math.floor(ms / 1_000))
      .toString(16)
      .padStart(8, '0')
  const clamp = (seconds: number) => Math.min(Math.max(seconds, 0), SECONDS_MAX)
  return { above: firstDigits(Date.parse(from)), below: firstDigits(Date.parse(to) + DAY_MS) }
}

const HEADER = [
  'created',
  'line',
  'kind',
  'description',
  'transaction',
  'transaction currency',
  'transaction amount',
  'fee',
  'amount',
  'balance',
  'currency',
]

/**
 * The header and the opening balance. Amounts are in major units of `currency`, the currency of the merchant at the beginning
 * of the period.
 */
export function statementHead({ from }: StatementPeriod, currency: string, balance: bigint): string {
  return writeCsv([HEADER, balanceRow(`${from}T00:00:00.000Z`, 'opening balance', currency, balance)])
}

/** The rows of a statement as CSV: one for each line, without the header. `currency` is the present currency of the merchant. */
export function statementRows(lines: readonly Line[], currency: string): string {
  return writeCsv(
    lines.map((line) => [
      line.created.toISOString(),
      line.id,
      line.kind,
      { text: line.description ?? '' },
      line.transactionId ?? '',
      line.currency ?? '',
      line.amount === null ? '' : formatAmount(line.currency ?? '', line.amount),
      ...[line.fee, line.balance, line.balanceAfter].map((amount) =>
        formatAmount(line.formerCurrency ?? currency, amount),
      ),
      line.formerCurrency ?? currency,
    ]),
  )
}

/**
 * The row of the closing balance.
 * @param currency of the merchant at the end of the period
 * @param balance in minor units
 */
export function statementFoot({ to }: StatementPeriod, currency: string, balance: bigint): string {
  return writeCsv([balanceRow(`${to}T23:59:59.999Z`, 'closing balance', currency, balance)])
}

function balanceRow(at: string, kind: string, currency: string, balance: bigint): readonly string[] {
  return [at, '', kind, '', '', '', '', '', '', formatAmount(currency, balance), currency]
}
