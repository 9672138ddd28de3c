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
  // Citus can plan the subquery over the journals only if the statement contains the merchant's id as a value.
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
 * Returns a line by its id, for members of its merchant. The verdict is `not-found` for an unknown id and `forbidden` for a
 * caller who is not a member. Neither includes the line.
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

/** Returns at most `limit` lines of a merchant, for its members, by id in the order of `input`. */
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

/** Returns a page of the lines of a merchant, for an operator. */
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

/** A change of a merchant's balance that an operator makes, not a card payment or a bank. */
export interface Adjustment {
  readonly merchantId: string
  /** Minor units of the merchant's currency. Negative if the merchant loses money. */
  readonly amount: number
  /** The description of the line. */
  readonly text: string
  /** The exception that the adjustment resolves. */
  readonly exceptionId?: string | undefined
}

/**
 * The result of an adjustment. `done` has the new line, and the new balance in minor units of the merchant's currency.
 * `no-exception`: the merchant has no open exception with this id. `events-wait`: the exception holds the balance only until
 * waiting events are applied, so no money can resolve it.
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

/** Adds a line for an adjustment. Resolves to `undefined` if the merchant does not exist. */
export function callAdjust(pools: Pools, adjustment: Adjustment): Promise<BookedAdjustment | undefined> {
  return pools.write.first(adjustQuery, adjustment)
}
