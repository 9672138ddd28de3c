import { formatAmount } from '../money/minor-units.ts'
import { writeCsv } from './csv.ts'
import type { Line } from './line.ts'

/** The first and the last day of the period, in UTC, such as `2026-03-01`. Both days are included. */
export interface StatementPeriod {
  readonly from: string
  readonly to: string
}

const DAY_MS = 86_400_000

/** Returns the number of days of a period. The result is below 1 if the period ends before it begins. */
export function daysOf({ from, to }: StatementPeriod): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
}

/** The last second that the first 8 digits of an id can hold, in the year 2106. */
const SECONDS_MAX = 0xffffffff

/** Returns the exclusive bounds of the ids of the period's lines. An id begins with the seconds of its creation. */
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
 * Returns the CSV header and the row of the opening balance.
 * @param currency the merchant's currency at the beginning of the period
 * @param balance in minor units of `currency`. The CSV has major units
 */
export function statementHead({ from }: StatementPeriod, currency: string, balance: bigint): string {
  return writeCsv([HEADER, balanceRow(`${from}T00:00:00.000Z`, 'opening balance', currency, balance)])
}

/** The CSV rows of lines, without the header. `currency` is the present currency of the merchant. */
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
 * Returns the CSV row of the closing balance.
 * @param currency the merchant's currency at the end of the period
 * @param balance in minor units
 */
export function statementFoot({ to }: StatementPeriod, currency: string, balance: bigint): string {
  return writeCsv([balanceRow(`${to}T23:59:59.999Z`, 'closing balance', currency, balance)])
}

function balanceRow(at: string, kind: string, currency: string, balance: bigint): readonly string[] {
  return [at, '', kind, '', '', '', '', '', '', formatAmount(currency, balance), currency]
}
