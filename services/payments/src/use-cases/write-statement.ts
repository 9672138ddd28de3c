import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { type RequestInput, requireAccess, requireOutcome, valid } from '../access/require-access.ts'
import type { Line } from '../ledger/line.ts'
import { listLines } from '../ledger/line-repository.ts'
import { idsOf, type StatementPeriod, statementFoot, statementHead, statementRows } from '../ledger/statement.ts'
import { readMerchant } from '../merchants/merchant-repository.ts'
import { type InTurn, LOWEST, type PageBounds } from '../pagination/page-query.ts'

/** The statement of a period, in parts of one file. */
export interface Statement {
  readonly period: StatementPeriod
  readonly rows: AsyncIterable<string>
}

/** The number of lines that one read returns. Other requests wait during a read. */
const PAGE_ROWS = 200

/**
 * Returns a merchant's lines of a period as CSV, between the opening and the closing balance (reference: Statements and
 * documents). Access is checked before the first byte and again for each page, so a revoked app cannot continue to read.
 */
export async function writeStatement(
  { pools }: { readonly pools: Pools },
  {
    caller,
    merchantId,
    input,
    withSlots,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    readonly input: RequestInput<StatementPeriod>
    /** Runs a read when the client gets a slot. */
    readonly withSlots: InTurn
  },
): Promise<Statement> {
  const { merchant, ...access } = await readMerchant(pools, { ...caller, merchantId })
  const { outcome: tenant, values: period } = requireOutcome(caller, { ...access, outcome: merchant }, input)
  const read = { pools, caller, merchantId, withSlots }
  const bounds = idsOf(period)
  const [before] = await readPage(read, { above: LOWEST, below: bounds.above, order: 'newest-first', limit: 1 })
  return { period, rows: writeRows(read, period, { currency: tenant.currency, before }) }
}

interface Reading {
  readonly pools: Pools
  readonly caller: Caller
  readonly merchantId: string
  readonly withSlots: InTurn
}

async function* writeRows(
  reading: Reading,
  period: StatementPeriod,
  { currency, before }: { readonly currency: string; readonly before: Line | undefined },
): AsyncIterable<string> {
  let [bounds, last] = [idsOf(period), before]
  for (;;) {
    const lines = await readPage(reading, { ...bounds, order: 'oldest-first', limit: PAGE_ROWS })
    // The merchant may have had another currency at the beginning of the period. The opening balance is 0 if no earlier line
    // exists.
    if (last === before) {
      const { formerCurrency } = before ?? lines[0] ?? { formerCurrency: null }
      yield statementHead(period, formerCurrency ?? currency, before?.balanceAfter ?? 0n)
    }
    const newest = lines.at(-1)
    if (!newest) break
    yield statementRows(lines, currency)
    bounds = { ...bounds, above: newest.id }
    last = newest
  }
  yield statementFoot(period, last?.formerCurrency ?? currency, last?.balanceAfter ?? 0n)
}

async function readPage(
  { pools, caller, merchantId, withSlots }: Reading,
  bounds: PageBounds,
): Promise<readonly Line[]> {
  const read = () => listLines(pools, { ...caller, merchantId, test: undefined, ...bounds })
  const result = await withSlots(bounds.limit, read)
  return requireAccess(caller, result, valid(bounds)).lines
}
