import { type Kysely, sql } from 'kysely'
import { insertOperatorAudit } from '../audit/audit-repository.ts'
import type { PaymentsTables } from '../database.ts'
import type { BankTransfer } from './pain-001.ts'
import type { Payout } from './payout.ts'

type Db = Kysely<PaymentsTables>

/** A merchant that may be paid out. */
export interface PayoutCandidate {
  readonly merchantId: string
  readonly test: boolean
}

const CANDIDATES_MAX = 1_000

/**
 * Merchants with money, by id, beyond one; read without locks. Whether anything is paid out is decided merchant by merchant.
 * @param only all candidates but this one are left out
 */
export async function listPayoutCandidates(
  db: Db,
  { after, only }: { readonly after: string; readonly only?: string | undefined },
): Promise<readonly PayoutCandidate[]> {
  const { rows } = await sql<PayoutCandidate>`
    SELECT m.id AS "merchantId", m.test FROM ${sql.table('merchants')} m
    JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = m.id
    WHERE m.id > ${after} AND b.balance > 0 AND (${only ?? null}::text IS NULL OR m.id = ${only ?? null})
    ORDER BY m.id LIMIT ${CANDIDATES_MAX}`.execute(db)
  return rows
}

/** A payout as an operator's list shows it. */
export type ListedPayout = Pick<Payout, 'id' | 'merchantId' | 'created' | 'amount' | 'currency' | 'status' | 'test'>

/** The newest payouts of all merchants, of one status where it is given. */
export async function listAllPayouts(
  db: Db,
  { status, limit }: { readonly status: string | undefined; readonly limit: number },
): Promise<readonly ListedPayout[]> {
  const { rows } = await sql<ListedPayout>`
    SELECT p.id, p.merchant_id AS "merchantId", p.created, p.amount, p.currency, p.status, p.test
    FROM ${sql.table('payouts')} p WHERE ${status ?? null}::text IS NULL OR p.status = ${status ?? null}
    ORDER BY p.created DESC, p.id DESC LIMIT ${limit}`.execute(db)
  return rows
}

/** Transfers that are to be written for a bank, and the instant at which that was settled. */
export interface PayoutExport {
  readonly created: Date
  readonly transfers: readonly BankTransfer[]
}

/**
 * Marks every live payout that waits as exported, and answers their transfers. Of two calls at once each payout is in one.
 * @param again those that were exported before and not settled since, instead
 */
export async function exportPayouts(db: Db, { again }: { readonly again: boolean }): Promise<PayoutExport> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<BankTransfer & { now: Date }>`
      WITH exported AS (
        UPDATE ${sql.table('payouts')} p SET status = 'exported'
        WHERE NOT p.test AND p.status = ${again ? 'exported' : 'created'}
        RETURNING p.*
      )
      SELECT p.id AS "payoutId", p.amount, p.currency, p.merchant_id AS "merchantId", p.iban,
        coalesce(m.name, m.website) AS "merchantName", now()
      FROM exported p JOIN ${sql.table('merchants')} m ON m.id = p.merchant_id ORDER BY p.id`.execute(trx)
    const [{ now } = { now: new Date(0) }] = rows
    const transfers = rows.map(({ now: _, ...transfer }) => transfer)
    const payload = { payouts: transfers.map(({ payoutId }) => payoutId), again }
    if (transfers.length > 0) await insertOperatorAudit(trx, { action: 'payouts.exported', payload })
    return { created: now, transfers }
  })
}
