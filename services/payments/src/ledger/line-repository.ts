import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Credentials } from '../access/caller.ts'
import { findBelowMerchant } from '../access/read-below-merchant.ts'
import type { AccessResult } from '../access/verdict.ts'
import { type BelowListInput, listBelowMerchant, readBelow } from '../pagination/list-below-merchant.ts'
import { listOfAll } from '../pagination/list-of-all.ts'
import type { PageBounds } from '../pagination/page-query.ts'
import type { LineKind } from './ledger-tables.ts'
import type { Line } from './line.ts'

interface LineColumns {
  id: string
  merchant_id: string
  test: boolean
  created: Date
  kind: LineKind
  balance: bigint
  fee: bigint
  balance_after: bigint
  description: string | null
  transaction_id: string | null
  amount: bigint | null
  currency: string | null
  former_currency: string | null
}

const source = {
  table: 'lines',
  // A cluster plans the query of the journals only where the merchant is a value of the statement.
  columns: (
    merchantId: RawBuilder<unknown>,
  ) => sql`r.id, r.merchant_id, r.test, r.created, r.kind, r.balance, r.fee, r.balance_after, r.description,
    r.transaction_id, r.amount, r.currency, (
      SELECT j.cause_id FROM ${sql.table('journals')} j
      WHERE j.merchant_id = ${merchantId} AND j.kind = 'currencyOpened' AND j.id > r.id
    ) AS former_currency`,
}

const readQuery = findBelowMerchant<LineColumns>('read_line', source)

/**
 * A line by its id, for members of its merchant: `not-found` for an unknown id, `forbidden` for a caller who is no member, both
 * without the line.
 */
export async function readLine(
  pools: Pools,
  input: Credentials & { readonly id: string },
): Promise<AccessResult & { readonly line: Line | undefined }> {
  const row = await pools.read.one(readQuery, input)
  const { verdict, identity_id: identityId } = row
  return { verdict, identityId, line: row.id === null ? undefined : toLine(row) }
}

const linesOfMerchant = listBelowMerchant<BelowListInput, LineColumns>('list_lines', source)

/** A page of a merchant's lines, for its members. At most `limit`, by id in the order of `input`. */
export async function listLines(
  pools: Pools,
  input: BelowListInput & Pick<PageBounds, 'order'>,
): Promise<AccessResult & { readonly lines: readonly Line[] }> {
  const { rows, ...access } = await readBelow(pools, linesOfMerchant, input)
  return { ...access, lines: rows.map(toLine) }
}

const linesOfAll = listOfAll<LineColumns>('lines_of_all', {
  table: 'lines',
  columns: source.columns(sql`r.merchant_id`),
  filters: ['merchant_id'],
})

/** A page of the lines of a merchant, for an operator. */
export async function listLinesForOperator(
  pools: Pools,
  { merchantId, ...page }: PageBounds & { readonly merchantId: string },
): Promise<readonly Line[]> {
  return (await linesOfAll(pools, { ...page, filters: { merchant_id: merchantId } })).map(toLine)
}

function toLine(row: LineColumns): Line {
  const { id, test, created, kind, balance, fee, description, amount } = row
  return {
    id,
    merchantId: row.merchant_id,
    test,
    created,
    kind,
    balance,
    fee,
    balanceAfter: row.balance_after,
    description,
    transactionId: row.transaction_id,
    amount,
    currency: row.currency,
    formerCurrency: row.former_currency,
  }
}

/** A change of a merchant's balance that no card and no bank has caused. */
export interface Adjustment {
  readonly merchantId: string
  /** Minor units of the merchant's currency. Negative when the merchant loses money. */
  readonly amount: number
  /** The description of the line. */
  readonly text: string
  /** The exception that the adjustment answers, and so resolves. */
  readonly exceptionId?: string | undefined
}

/**
 * The new line, and the balance after it in minor units of the merchant's currency; or nothing, because the merchant has no open
 * exception of that id, or because the exception claims no money: it holds the balance until events are applied.
 */
export type BookedAdjustment =
  | { readonly verdict: 'done'; readonly lineId: string; readonly balance: bigint }
  | { readonly verdict: 'no-exception' }
  | { readonly verdict: 'events-wait' }

const adjustQuery = prepare(
  'adjust',
  (p: Adjustment) => sql<BookedAdjustment>`
    SELECT verdict, line_id AS "lineId", balance
    FROM ${sql.table('adjust')}(${p.merchantId}, ${p.amount}, ${p.text}, ${p.exceptionId ?? null}::text)`,
)

/** Adds a line for an adjustment. Undefined when there is no such merchant. */
export function callAdjust(pools: Pools, adjustment: Adjustment): Promise<BookedAdjustment | undefined> {
  return pools.write.first(adjustQuery, adjustment)
}
