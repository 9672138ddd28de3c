import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'
import { type ChainHead, checkLink, endCheck, type Finding, type LinkState, startCheck } from '../ledger/check-links.ts'
import { streamLinks } from '../ledger/link-stream.ts'
import { checkFigures, streamFigures } from '../ledger/transaction-figures.ts'

/** Something that must hold of a ledger and does not. */
export interface Violation {
  readonly merchantId: string
  /** Number of the invariant in contract 11.3; 16 for the chain. */
  readonly invariant: number
  /** The row that it is about; null when it is about the merchant's ledger as a whole. */
  readonly table: string | null
  readonly id: string | null
  readonly message: string
}

/** What was found of one merchant: the first violations of many, and the end of its chain. */
export interface VerifiedMerchant extends ChainHead {
  readonly merchantId: string
  readonly violations: readonly Violation[]
}

const VIOLATIONS_MAX = 100
const PAGE = 500

/**
 * Recomputes the ledgers of all merchants, one after the other, each as it stood at one moment, and compares with the heads
 * that were kept, by merchant. Memory does not grow with the ledger. Invariant 12 is of payouts at their moment, and not here.
 * @see contract 11.3, 11.5
 */
export async function* verifyLedger(
  db: Kysely<PaymentsTables>,
  { merchantId, kept }: { readonly merchantId: string | undefined; readonly kept: ReadonlyMap<string, ChainHead> },
): AsyncGenerator<VerifiedMerchant> {
  const missing = new Set(merchantId === undefined ? kept.keys() : [merchantId])
  for await (const id of merchantId === undefined ? streamMerchants(db) : [merchantId]) {
    const verified = await verifyMerchant(db, id, kept.get(id))
    if (!verified) continue
    missing.delete(id)
    yield verified
  }
  for (const id of missing) {
    const violation = { merchantId: id, invariant: 16, table: null, id: null, message: 'the merchant has no ledger' }
    yield { merchantId: id, length: 0n, head: Buffer.alloc(0), violations: [violation] }
  }
}

async function* streamMerchants(db: Kysely<PaymentsTables>): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('merchants')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE)
      .execute()
    yield* rows.map(({ id }) => id)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = last.id
  }
}

/** Undefined when there is no such merchant. */
function verifyMerchant(
  db: Kysely<PaymentsTables>,
  merchantId: string,
  kept: ChainHead | undefined,
): Promise<VerifiedMerchant | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const row = await readLedgerHead(trx, merchantId)
      if (!row) return undefined
      const violations: Violation[] = []
      const add = (findings: readonly Finding[], table: string | null, id: string | null) => {
        for (const [invariant, message] of findings) {
          if (violations.length < VIOLATIONS_MAX) violations.push({ merchantId, invariant, table, id, message })
        }
      }
      const state = startCheck(kept)
      for await (const link of streamLinks(trx, merchantId)) add(checkLink(state, link), link.table, link.row.id)
      let trailEntries = 0n
      for await (const figures of streamFigures(trx, merchantId)) {
        trailEntries += figures.trail_entries
        add(checkFigures(figures), 'transactions', figures.id)
      }
      add(endCheck(state, row, row.entries), 'merchant_balances', merchantId)
      add(checkRest(state, row, trailEntries), null, null)
      return { merchantId, ...state.chain, violations }
    })
}

interface LedgerHeadRow {
  readonly balance: bigint
  readonly lineCount: bigint
  readonly head: Buffer
  readonly length: bigint
  readonly entries: bigint
  readonly currency: string
  readonly unsettled: bigint
}

async function readLedgerHead(trx: Kysely<PaymentsTables>, merchantId: string): Promise<LedgerHeadRow | undefined> {
  const { rows } = await sql<LedgerHeadRow>`
    SELECT b.balance, b.line_count AS "lineCount", b.chain_head AS head, b.chain_length AS length, b.currency,
      (SELECT count(*) FROM ${sql.table('entries')} e WHERE e.merchant_id = b.merchant_id) AS entries,
      (SELECT coalesce(sum(p.amount), 0)::bigint FROM ${sql.table('payouts')} p
        WHERE p.merchant_id = b.merchant_id AND p.status IN ('created', 'exported')) AS unsettled
    FROM ${sql.table('merchant_balances')} b WHERE b.merchant_id = ${merchantId}`.execute(trx)
  return rows[0]
}

function checkRest(state: LinkState, row: LedgerHeadRow, trailEntries: bigint): readonly Finding[] {
  const clearing = state.payoutClearing.get(row.currency) ?? 0n
  const findings: Finding[] = []
  if (clearing !== row.unsettled) findings.push([15, `${clearing} waits for the bank, payouts of ${row.unsettled} do`])
  if (trailEntries !== state.trailEntries) findings.push([3, 'trail entries belong to no transaction'])
  return findings
}
