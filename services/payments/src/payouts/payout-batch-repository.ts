import { type Kysely, sql } from 'kysely'
import { insertOperatorAudit } from '../access/audit-repository.ts'
import type { PaymentsTables } from '../database.ts'
import { expectRecorded } from '../ledger/states.ts'
import { type BatchMessage, digestBatch } from './bank-files.ts'
import type { BankTransfer, Debtor } from './pain-001.ts'

type Db = Kysely<PaymentsTables>

/** A payout in a batch. The account and the amount stay in the payout's own row. */
interface BatchedPayout {
  readonly id: string
  readonly merchantId: string
  readonly merchantName: string
}

/**
 * Puts every live payout that waits into a new batch, marks it as exported, and lets `prepare` write the batch down, all in
 * one transaction: what cannot be written stays where it was. Of two calls at once each payout is in one batch. Undefined
 * when nothing waits.
 * @throws Error when a payout that waits was changed by hand, or is in a batch already: the bank has it
 */
export async function exportPayouts(
  db: Db,
  debtor: Debtor,
  prepare: (message: BatchMessage) => Promise<void>,
): Promise<BatchMessage | undefined> {
  return db.transaction().execute(async (trx) => {
    await sql`SET LOCAL row_security = off`.execute(trx)
    const transfers = await markExported(trx)
    if (transfers.length === 0) return undefined
    await refuseBatched(trx, transfers)
    const payouts: readonly BatchedPayout[] = transfers.map(({ payoutId: id, merchantId, merchantName }) => ({
      id,
      merchantId,
      merchantName,
    }))
    const { rows } = await sql<{ id: string; created: Date }>`
      SELECT id, created FROM ${sql.table('new_id')}(${sql.table('random_tag')}())`.execute(trx)
    const [batch] = rows
    if (!batch) throw new Error('the batch has no id')
    const message = { ...batch, debtor, transfers }
    const told = { debtor: JSON.stringify(debtor), payouts: JSON.stringify(payouts), digest: digestBatch(message) }
    await trx
      .insertInto('payout_batches')
      .values({ ...batch, ...told })
      .execute()
    const payload = { batch: batch.id, payouts: payouts.map(({ id }) => id) }
    await insertOperatorAudit(trx, { action: 'payouts.exported', payload })
    await prepare(message)
    return message
  })
}

/** @throws Error when a payout has no merchant, or a policy of row-level security would hide rows: nothing is marked then */
async function markExported(trx: Db): Promise<readonly BankTransfer[]> {
  const { rows } = await sql<Omit<BankTransfer, 'merchantName'> & { merchantName: string | null }>`
    SELECT p.id AS "payoutId", p.amount, p.currency, p.merchant_id AS "merchantId", p.iban,
      coalesce(m.name, m.website) AS "merchantName"
    FROM ${sql.table('export_payouts')}() p LEFT JOIN ${sql.table('merchants')} m ON m.id = p.merchant_id
    ORDER BY p.id`.execute(trx)
  return rows.map(({ merchantName, ...transfer }) => {
    if (merchantName === null) throw new Error(`payout ${transfer.payoutId} has no merchant`)
    return { ...transfer, merchantName }
  })
}

async function refuseBatched(trx: Db, transfers: readonly BankTransfer[]): Promise<void> {
  const ids = transfers.map(({ payoutId }) => payoutId)
  const { rows } = await sql<{ payoutId: string; batch: string }>`
    SELECT p.id AS "payoutId", b.id AS batch FROM unnest(${ids}::text[]) p (id)
    JOIN ${sql.table('payout_batches')} b ON b.payouts @> jsonb_build_array(jsonb_build_object('id', p.id))
    LIMIT 1`.execute(trx)
  const [twice] = rows
  if (twice) throw new Error(`payout ${twice.payoutId} is in batch ${twice.batch} already: use --again ${twice.batch}`)
}

/**
 * A batch as it was exported, so that its files can be written again. That is written down: the bank may get the files twice.
 * @throws Error when there is none, when it names a payout that is not there, twice, or in another batch too, or when the bank has
 * answered about one of its payouts: the files are of no use then, or harmful; when a payout or the batch is not what it was
 */
export async function getBatch(db: Db, id: string): Promise<BatchMessage> {
  const batch = await db.selectFrom('payout_batches').selectAll().where('id', '=', id).executeTakeFirst()
  if (!batch) throw new Error(`there is no batch ${id}`)
  const { rows } = await sql<BankTransfer & { status: string; isElsewhere: boolean }>`
    SELECT p.id AS "payoutId", p.amount, p.currency, p.merchant_id AS "merchantId", p.iban,
      b.payout ->> 'merchantName' AS "merchantName", p.status, EXISTS (
        SELECT FROM ${sql.table('payout_batches')} other
        WHERE other.id <> ${id} AND other.payouts @> jsonb_build_array(jsonb_build_object('id', p.id))
      ) AS "isElsewhere"
    FROM jsonb_array_elements(${JSON.stringify(batch.payouts)}::jsonb) AS b (payout)
    JOIN ${sql.table('payouts')} p ON p.merchant_id = b.payout ->> 'merchantId' AND p.id = b.payout ->> 'id'
    ORDER BY p.id`.execute(db)
  if (rows.length !== batch.payouts.length) throw new Error('the batch names payouts that are not there')
  const twice = rows.find(({ payoutId, isElsewhere }, at) => isElsewhere || payoutId === rows[at - 1]?.payoutId)
  if (twice) throw new Error(`payout ${twice.payoutId} is in batches more than once`)
  const closed = rows.find(({ status }) => status !== 'exported')
  if (closed) throw new Error(`payout ${closed.payoutId} of the batch is ${closed.status}`)
  for (const { payoutId, merchantId } of rows) await expectRecorded(db, merchantId, 'payouts', [payoutId])
  const transfers = rows.map(({ status: _, isElsewhere: __, ...transfer }) => transfer)
  const message = { id, created: batch.created, debtor: { bic: undefined, ...batch.debtor }, transfers }
  if (batch.digest && !batch.digest.equals(digestBatch(message))) {
    throw new Error(`batch ${id} is not what was exported: its account, a name, an account or an amount was changed`)
  }
  await insertOperatorAudit(db, { action: 'payouts.exported-again', payload: { batch: id, payouts: transfers.length } })
  return message
}

/** A batch as an operator's list shows it. */
export interface ListedBatch {
  readonly id: string
  readonly created: Date
  readonly payouts: number
}

/** The newest batches. */
export async function listBatches(db: Db, limit: number): Promise<readonly ListedBatch[]> {
  const { rows } = await sql<ListedBatch>`
    SELECT b.id, b.created, jsonb_array_length(b.payouts) AS payouts FROM ${sql.table('payout_batches')} b
    ORDER BY b.id DESC LIMIT ${limit}`.execute(db)
  return rows
}
