import { isEndedStatement } from '@trestle/database/unavailable.ts'
import { sql } from 'kysely'
import { sqlFragment } from '../access/access-query.ts'
import type { Db, Trx } from '../database.ts'

const PAGE_ROWS = 1_000

/** Yields the ids of all merchants, read in pages without locks. Callers work on each merchant in a separate call. */
export async function* eachMerchant(db: Db): AsyncGenerator<string> {
  for await (const page of merchantPages(db)) yield* page
}

/** Yields the ids of all merchants in pages of 1,000, for statements that work on many merchants. */
export async function* merchantPages(db: Db): AsyncGenerator<readonly string[]> {
  let after = ''
  for (;;) {
    const page = await db
      .selectFrom('merchants')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute()
    const last = page.at(-1)
    if (!last) return
    yield page.map(({ id }) => id)
    after = last.id
  }
}

/** Returns the acquirers of live merchants that are not among `names`, in alphabetical order. */
export async function listAcquirersBeside(db: Db, names: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<{ acquirer: string }>`
    SELECT DISTINCT acquirer FROM ${sql.table('merchants')} WHERE NOT test AND acquirer <> ALL (${names}::text[])
    ORDER BY 1`.execute(db)
  return rows.map(({ acquirer }) => acquirer)
}

/** A bank account that receives payouts, and the merchant or payout that uses the account. */
export interface LiveAccount {
  readonly name: string
  readonly iban: string
}

/** Returns the bank accounts of live merchants and of their payouts that are not yet exported. */
export async function listLiveAccounts(db: Db): Promise<readonly LiveAccount[]> {
  const { rows: merchants } = await sql<LiveAccount>`
    SELECT 'merchant ' || m.id AS name, m.iban FROM ${sql.table('merchants')} m
    WHERE NOT m.test AND m.iban IS NOT NULL ORDER BY m.id`.execute(db)
  const { rows: payouts } = await sql<LiveAccount>`
    SELECT 'payout ' || p.id AS name, p.iban FROM ${sql.table('payouts')} p
    WHERE NOT p.test AND p.status = 'created' ORDER BY p.id`.execute(db)
  return [...merchants, ...payouts]
}

interface MerchantWork {
  readonly db: Db
  readonly logger: { warn(fields: object, message: string): void }
}

/**
 * Calls `act` for each merchant. If a lock timeout or a statement timeout ends one call, the function continues with the next
 * merchant.
 * @throws Error at the end if it skipped a merchant, so that the job runs again
 */
export async function forEachMerchant(
  { db, logger }: MerchantWork,
  act: (merchantId: string) => Promise<void>,
): Promise<void> {
  let failed = 0
  for await (const merchantId of eachMerchant(db)) {
    try {
      await act(merchantId)
    } catch (error) {
      if (!isEndedStatement(error)) throw error
      logger.warn({ err: error, merchant_id: merchantId }, 'a merchant was left out')
      failed += 1
    }
  }
  if (failed > 0) throw new Error(`${failed} merchants were left out`)
}

/**
 * Keeps the rows of a merchant on their server until the end of the database transaction. It must be the first statement of the
 * transaction. Otherwise Citus may move rows that the transaction has only read or locked. The transaction would then change the
 * moved rows based on old values (decision 36).
 */
export async function lockTenant(trx: Trx, merchantId: string): Promise<void> {
  await sql`SELECT ${sql.table('wait_for_rebalance')}(${merchantId})`.execute(trx)
}

/** Returns the merchants that an id may belong to. At most one of them has the row. */
export async function listTenants(db: Db, id: string): Promise<readonly string[]> {
  const { rows } = await sql<{ merchant_id: string }>`
    SELECT o.merchant_id FROM (${sqlFragment('owners.sql', { id: sql`${id}::text` })}) o`.execute(db)
  return rows.map(({ merchant_id }) => merchant_id)
}
