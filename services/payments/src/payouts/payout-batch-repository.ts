import { sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import { expectRecorded } from '../ledger/states.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { type BatchMessage, digestBatch } from './bank-files.ts'
import type { BankTransfer, Debtor } from './pain-001.ts'

/** A payout in a batch. Its account and its amount stay in the row of the payout. */
interface BatchedPayout {
  readonly id: string
  readonly merchantId: string
  readonly merchantName: string
}

/**
 * Puts waiting live payouts into a new batch, marks them as exported and calls `prepare`, in one transaction.
 * When `prepare` fails, nothing has changed. Two exports at once never share a payout. Undefined when no
 * payout waits.
 * @throws Error when a waiting payout was changed by hand, or is in a batch already, which the bank has
 */
export async function runPayoutExport(
  db: Db,
  debtor: Debtor,
  prepare: (message: BatchMessage) => Promise<void>,
): Promise<NewBatch | undefined> {
  return db.transaction().execute(async (trx) => {
    const batch = await insertWaitingBatch(trx, { debtor, payoutsMax: BATCH_PAYOUTS_MAX }, insertBatch)
    if (!batch) return undefined
    const { message } = batch
    const payload = { batch: message.id, payouts: message.transfers.map(({ payoutId }) => payoutId) }
    await insertOperatorAudit(trx, { action: 'payouts.exported', payload })
    await prepare(message)
    return batch
  })
}

/** The most payouts of a batch. Its files are one answer of the API, of which the console reads at most 16 MiB. */
export const BATCH_PAYOUTS_MAX = 5_000

/** A batch that was made now. */
export interface NewBatch {
  readonly message: BatchMessage
  /** How many live payouts still wait, for the next batch. */
  readonly waiting: number
}

/** The account that pays a new batch, and how many payouts the batch may have. */
interface WantedBatch {
  readonly debtor: Debtor
  readonly payoutsMax: number
}

/** The stored values of a batch. */
type StoredBatch = BatchMessage & { readonly payouts: readonly BatchedPayout[] }

/**
 * Puts waiting live payouts into a new batch and marks them as exported, in the transaction of the caller.
 * Undefined when no payout waits.
 * @param store stores the batch, with the rights of the caller
 * @throws Error when a waiting payout was changed by hand, or is in a batch already, which the bank has
 */
export async function insertWaitingBatch(
  trx: Trx,
  { debtor, payoutsMax }: WantedBatch,
  store: (trx: Trx, batch: StoredBatch) => Promise<unknown>,
): Promise<NewBatch | undefined> {
  await sql`SET LOCAL row_security = off`.execute(trx)
  const transfers = await markExported(trx, payoutsMax)
  if (transfers.length === 0) return undefined
  await refuseBatched(trx, transfers)
  const payouts = transfers.map(({ payoutId: id, merchantId, merchantName }) => ({ id, merchantId, merchantName }))
  const { rows } = await sql<{ id: string; created: Date }>`
    SELECT id, created FROM ${sql.table('new_id')}(${sql.table('random_tag')}())`.execute(trx)
  const [batch] = rows
  if (!batch) throw new Error('the batch has no id')
  const message = { ...batch, debtor, transfers }
  await store(trx, { ...message, payouts })
  return { message, waiting: await countWaiting(trx) }
}

async function countWaiting(trx: Trx): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT ${sql.table('count_waiting_payouts')}() AS count`.execute(trx)
  return rows[0]?.count ?? 0
}

async function insertBatch(trx: Trx, { payouts, ...message }: StoredBatch): Promise<void> {
  const { id, created, debtor } = message
  const columns = { debtor: JSON.stringify(debtor), payouts: JSON.stringify(payouts), digest: digestBatch(message) }
  await trx
    .insertInto('payout_batches')
    .values({ id, created, ...columns })
    .execute()
}

/** Stores a batch as an operator, who may not write the table. */
export async function callInsertBatch(trx: Trx, { payouts, ...message }: StoredBatch): Promise<void> {
  const { id, created, debtor } = message
  await sql`
    SELECT ${sql.table('insert_payout_batch')}(${id}, ${created}::timestamptz, ${JSON.stringify(debtor)}::jsonb,
      ${JSON.stringify(payouts)}::jsonb, ${digestBatch(message)}::bytea)`.execute(trx)
}

/**
 * Marks waiting payouts as exported, at most `payoutsMax`.
 * @throws Error, and marks nothing, when a payout has no merchant, or when row-level security would hide rows
 */
async function markExported(trx: Trx, payoutsMax: number): Promise<readonly BankTransfer[]> {
  // Nothing stands beside the function: a distributed database would run it on the node of the other table.
  const { rows } = await sql<Omit<BankTransfer, 'merchantName'>>`
    SELECT p.id AS "payoutId", p.amount, p.currency, p.merchant_id AS "merchantId", p.iban
    FROM ${sql.table('export_waiting_payouts')}(${payoutsMax}::int) p`.execute(trx)
  const { rows: merchants } = await sql<{ id: string; name: string }>`
    SELECT m.id, coalesce(m.name, m.website) AS name FROM ${sql.table('merchants')} m
    WHERE m.id = ANY (${rows.map(({ merchantId }) => merchantId)}::text[])`.execute(trx)
  const names = new Map(merchants.map(({ id, name }) => [id, name]))
  return rows
    .map((transfer) => {
      const merchantName = names.get(transfer.merchantId)
      if (merchantName === undefined) throw new Error(`payout ${transfer.payoutId} has no merchant`)
      return { ...transfer, merchantName }
    })
    .sort((one, other) => (one.payoutId < other.payoutId ? -1 : 1))
}

async function refuseBatched(trx: Trx, transfers: readonly BankTransfer[]): Promise<void> {
  const ids = transfers.map(({ payoutId }) => payoutId)
  const { rows } = await sql<{ payoutId: string; batch: string }>`
    SELECT p.id AS "payoutId", b.id AS batch FROM unnest(${ids}::text[]) p (id)
    JOIN ${sql.table('payout_batches')} b ON b.payouts @> jsonb_build_array(jsonb_build_object('id', p.id))
    LIMIT 1`.execute(trx)
  const [twice] = rows
  if (twice) throw new Error(`payout ${twice.payoutId} is in batch ${twice.batch} already: use --again ${twice.batch}`)
}

/** A batch, or why its files must not be written again: they could do harm. */
export type ReadBatch =
  | { readonly verdict: 'as-exported'; readonly message: BatchMessage }
  | { readonly verdict: 'unknown' }
  | { readonly verdict: 'changed'; readonly reason: string }

/**
 * Reads a batch as it was exported. `changed`: it names a payout that is gone, twice, or in another batch
 * too; the bank has answered about a payout; or the batch was changed.
 * @throws Error when a payout was changed by hand
 */
export async function readBatch(db: Db, id: string): Promise<ReadBatch> {
  const batch = await db.selectFrom('payout_batches').selectAll().where('id', '=', id).executeTakeFirst()
  if (!batch) return { verdict: 'unknown' }
  const changed = (reason: string) => ({ verdict: 'changed', reason }) as const
  const rows = await listBatched(db, id, batch.payouts)
  if (rows.length !== batch.payouts.length) return changed('the batch names payouts that are not there')
  const twice = rows.find(({ payoutId, isElsewhere }, at) => isElsewhere || payoutId === rows[at - 1]?.payoutId)
  if (twice) return changed(`payout ${twice.payoutId} is in batches more than once`)
  const closed = rows.find(({ status }) => status !== 'exported')
  if (closed) return changed(`payout ${closed.payoutId} of the batch is ${closed.status}`)
  for (const { payoutId, merchantId } of rows) await expectRecorded(db, merchantId, 'payouts', [payoutId])
  const transfers = rows.map(({ status: _, isElsewhere: __, ...transfer }) => transfer)
  const message = { id, created: batch.created, debtor: { bic: undefined, ...batch.debtor }, transfers }
  if (!batch.digest.equals(digestBatch(message))) {
    return changed(`batch ${id} is not what was exported: its account, a name, an account or an amount was changed`)
  }
  return { verdict: 'as-exported', message }
}

/**
 * Exports a batch again, so that its files can be written again. The audit log records this, because the bank may get the files
 * twice.
 * @throws Error when there is no such batch, and when its files could do harm
 */
export async function runExportAgain(db: Db, id: string): Promise<BatchMessage> {
  const found = await readBatch(db, id)
  if (found.verdict === 'unknown') throw new Error(`there is no batch ${id}`)
  if (found.verdict === 'changed') throw new Error(found.reason)
  const { message } = found
  const payload = { batch: id, payouts: message.transfers.length }
  await insertOperatorAudit(db, { action: 'payouts.exported-again', payload })
  return message
}

interface BatchedRow extends BankTransfer {
  readonly status: string
  /** Whether another batch names the payout too. */
  readonly isElsewhere: boolean
}

/** The payouts that a batch names, by id, each with the name that the batch has. Payouts that are gone are left out. */
async function listBatched(db: Db, batchId: string, payouts: readonly unknown[]): Promise<readonly BatchedRow[]> {
  const { rows: named } = await sql<BatchedPayout>`
    SELECT b.payout ->> 'id' AS id, b.payout ->> 'merchantId' AS "merchantId", b.payout ->> 'merchantName' AS "merchantName"
    FROM jsonb_array_elements(${JSON.stringify(payouts)}::jsonb) AS b (payout)`.execute(db)
  const found: BatchedRow[] = []
  for (const { id, merchantId, merchantName } of named) {
    const { rows } = await sql<Omit<BatchedRow, 'merchantName' | 'isElsewhere'>>`
      SELECT p.id AS "payoutId", p.amount, p.currency, p.merchant_id AS "merchantId", p.iban, p.status
      FROM ${sql.table('payouts')} p WHERE p.merchant_id = ${merchantId} AND p.id = ${id}`.execute(db)
    const others = await sql`
      SELECT FROM ${sql.table('payout_batches')} other
      WHERE other.id <> ${batchId} AND other.payouts @> jsonb_build_array(jsonb_build_object('id', ${id}::text))
      LIMIT 1`.execute(db)
    found.push(...rows.map((row) => ({ ...row, merchantName, isElsewhere: others.rows.length > 0 })))
  }
  return found.sort((one, other) => (one.payoutId < other.payoutId ? -1 : 1))
}
