import type { Pools } from '@trestle/database/pools.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import { expectRecorded } from '../ledger/states.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { listOfAll } from '../pagination/list-of-all.ts'
import type { PageBounds } from '../pagination/page-query.ts'
import { nextBankDay } from './bank-days.ts'
import { type BatchMessage, digestBatch, judgeTransfer, toPaidAmount } from './bank-files.ts'
import type { BankTransfer, Debtor, FileForm } from './pain-001.ts'

/** A payout in a batch. The account and the amount are only in the row of the payout. */
interface BatchedPayout {
  readonly id: string
  readonly merchantId: string
  readonly holder: string
}

/**
 * Puts waiting live payouts into a new batch, marks them as exported and calls `prepare`, in one database transaction. If
 * `prepare` fails, nothing changes. Two concurrent exports never share a payout.
 * @throws Error if a waiting payout was changed by hand, or is already in a batch, which the bank then has
 */
export async function runPayoutExport(
  db: Db,
  wanted: Omit<WantedBatch, 'payoutsMax'>,
  prepare: (message: BatchMessage) => Promise<void>,
): Promise<NewBatch> {
  return db.transaction().execute(async (trx) => {
    const batch = await insertWaitingBatch(trx, { ...wanted, payoutsMax: BATCH_PAYOUTS_MAX }, insertBatch)
    const { message } = batch
    if (!message) return batch
    const payload = { batch: message.id, payouts: message.transfers.map(({ payoutId }) => payoutId) }
    await insertOperatorAudit(trx, { action: 'payouts.exported', payload })
    await prepare(message)
    return batch
  })
}

/**
 * The maximum number of payouts in a batch. The API sends all files of a batch in one response, and the console reads at most 16
 * MiB of a response.
 */
export const BATCH_PAYOUTS_MAX = 5_000

/** A payout that cannot be exported, and the reason: `its IBAN is not one of its country`. */
interface HeldPayout {
  readonly payoutId: string
  readonly merchantId: string
  readonly merchantName: string | null
  readonly reason: string
}

export interface NewBatch {
  /** `undefined` if no payout could be exported. */
  readonly message: BatchMessage | undefined
  /** The number of live payouts that wait for the next batch. */
  readonly waiting: number
  /** Payouts that wait until an operator has corrected the data of their merchant. */
  readonly held: readonly HeldPayout[]
}

/** The account that pays a new batch, the format of its file, and the maximum number of payouts. */
interface WantedBatch {
  readonly debtor: Debtor
  readonly version: FileForm['version']
  /** The time zone of the operator: `Europe/Copenhagen`. */
  readonly timeZone: string
  /** The day on which the bank pays. If `undefined`, the next day on which banks settle. */
  readonly executionDate: string | undefined
  readonly payoutsMax: number
}

type StoredBatch = BatchMessage & { readonly payouts: readonly BatchedPayout[] }

/**
 * Puts waiting live payouts into a new batch and marks them as exported, in the database transaction of the caller. Payouts that
 * the bank would refuse are left out and returned in `held`.
 * @param store stores the batch with the rights of the caller
 * @throws Error if a waiting payout was changed by hand, or is already in a batch, which the bank then has
 */
export async function insertWaitingBatch(
  trx: Trx,
  { debtor, version, timeZone, executionDate, payoutsMax }: WantedBatch,
  store: (trx: Trx, batch: StoredBatch) => Promise<unknown>,
): Promise<NewBatch> {
  await sql`SET LOCAL row_security = off`.execute(trx)
  const { payable, held } = await judgeWaiting(trx, debtor)
  const transfers = await markExported(trx, payable.slice(0, payoutsMax))
  if (transfers.length === 0) return { message: undefined, waiting: 0, held }
  await refuseBatched(trx, transfers)
  const payouts = transfers.map(({ payoutId: id, merchantId, holder }) => ({ id, merchantId, holder }))
  const { rows } = await sql<{ id: string; created: Date }>`
    SELECT id, created FROM ${sql.table('new_id')}(${sql.table('random_tag')}())`.execute(trx)
  const [batch] = rows
  if (!batch) throw new Error('the batch has no id')
  const form = { version, executionDate: executionDate ?? nextBankDay(batch.created, timeZone) }
  const message = { ...batch, debtor, form, transfers }
  await store(trx, { ...message, payouts })
  return { message, waiting: Math.max(0, (await countWaiting(trx)) - held.length), held }
}

interface WaitingRow extends Omit<BankTransfer, 'holder'> {
  readonly merchantName: string | null
  readonly holder: string | null
  readonly isOrphan: boolean
}

/**
 * The waiting payouts in export order, and those among them that no file may have (reference: Bank files).
 * @throws Error if a payout has no merchant
 */
async function judgeWaiting(trx: Trx, debtor: Debtor) {
  const { rows } = await sql<WaitingRow>`
    SELECT p.id AS "payoutId", p.amount, p.currency, p.merchant_id AS "merchantId", p.iban, m.name AS "merchantName",
      coalesce(m.holder, m.name) AS holder, m.id IS NULL AS "isOrphan"
    FROM ${sql.table('payouts')} p LEFT JOIN ${sql.table('merchants')} m ON m.id = p.merchant_id
    WHERE NOT p.test AND p.status = 'created' ORDER BY p.merchant_id, p.id`.execute(trx)
  const held: HeldPayout[] = []
  const payable: BankTransfer[] = []
  for (const { merchantName, holder, isOrphan, ...row } of rows) {
    if (isOrphan) throw new Error(`payout ${row.payoutId} has no merchant`)
    const judged = judgeTransfer({ ...toPaidAmount(row), holder }, debtor)
    if ('reason' in judged) {
      held.push({ payoutId: row.payoutId, merchantId: row.merchantId, merchantName, reason: judged.reason })
    } else payable.push(judged)
  }
  return { payable, held }
}

async function countWaiting(trx: Trx): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT ${sql.table('count_waiting_payouts')}() AS count`.execute(trx)
  return rows[0]?.count ?? 0
}

async function insertBatch(trx: Trx, { payouts, ...message }: StoredBatch): Promise<void> {
  const { id, created, debtor, form } = message
  const [stored, written] = [JSON.stringify(debtor), JSON.stringify(form)]
  const columns = { debtor: stored, form: written, payouts: JSON.stringify(payouts), digest: digestBatch(message) }
  await trx
    .insertInto('payout_batches')
    .values({ id, created, ...columns })
    .execute()
}

/** Stores a batch through an SQL function, because an operator may not write to the table. */
export async function callInsertBatch(trx: Trx, { payouts, ...message }: StoredBatch): Promise<void> {
  const { id, created, debtor, form } = message
  await sql`
    SELECT ${sql.table('insert_payout_batch')}(${id}, ${created}::timestamptz, ${JSON.stringify(debtor)}::jsonb,
      ${JSON.stringify(form)}::jsonb, ${JSON.stringify(payouts)}::jsonb, ${digestBatch(message)}::bytea)`.execute(trx)
}

/** Marks the payouts that still wait as exported. @throws Error, with none marked, if row-level security hides rows */
async function markExported(trx: Trx, wanted: readonly BankTransfer[]): Promise<readonly BankTransfer[]> {
  if (wanted.length === 0) return []
  const holders = new Map(wanted.map(({ payoutId, holder }) => [payoutId, holder]))
  // Do not join the function with a table. A distributed database would then run the function on the node of that table.
  const { rows } = await sql<Omit<BankTransfer, 'holder'>>`
    SELECT p.id AS "payoutId", p.amount, p.currency, p.merchant_id AS "merchantId", p.iban
    FROM ${sql.table('export_waiting_payouts')}(${wanted.length}::int, ${[...holders.keys()]}::text[]) p`.execute(trx)
  return rows
    .map((transfer) => {
      const holder = holders.get(transfer.payoutId)
      if (holder === undefined) throw new Error(`payout ${transfer.payoutId} was not asked for`)
      return { ...toPaidAmount(transfer), holder }
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

/** A batch, or the reason why its files must not be written again. Writing them again could pay a payout twice. */
type ReadBatch =
  | { readonly verdict: 'as-exported'; readonly message: BatchMessage }
  | { readonly verdict: 'unknown' }
  | { readonly verdict: 'changed'; readonly reason: string }

/**
 * Reads a batch as it was exported. The verdict is `changed` in three cases: the batch or its data were changed; a payout is
 * missing, repeated, or in another batch too; or the bank has answered about a payout.
 * @throws Error if a payout was changed by hand
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
  const { created, form } = batch
  const message = { id, created, debtor: { bic: undefined, ...batch.debtor }, form, transfers }
  if (!batch.digest.equals(digestBatch(message))) {
    return changed(`batch ${id} is not what was exported: its account, a name, an account or an amount was changed`)
  }
  return { verdict: 'as-exported', message }
}

/**
 * Exports a batch again, so that its files can be written again. The audit log records this, because the bank may get the files
 * twice.
 * @throws Error if the batch does not exist or its files could do harm
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
  /** Whether another batch also names the payout. */
  readonly isElsewhere: boolean
}

/** The payouts of a batch, by id, with the holder names of the batch. Leaves out payouts that no longer exist. */
async function listBatched(db: Db, batchId: string, payouts: readonly unknown[]): Promise<readonly BatchedRow[]> {
  const { rows: named } = await sql<BatchedPayout>`
    SELECT b.payout ->> 'id' AS id, b.payout ->> 'merchantId' AS "merchantId", b.payout ->> 'holder' AS holder
    FROM jsonb_array_elements(${JSON.stringify(payouts)}::jsonb) AS b (payout)`.execute(db)
  const found: BatchedRow[] = []
  for (const { id, merchantId, holder } of named) {
    const { rows } = await sql<Omit<BatchedRow, 'holder' | 'isElsewhere'>>`
      SELECT p.id AS "payoutId", p.amount, p.currency, p.merchant_id AS "merchantId", p.iban, p.status
      FROM ${sql.table('payouts')} p WHERE p.merchant_id = ${merchantId} AND p.id = ${id}`.execute(db)
    const others = await sql`
      SELECT FROM ${sql.table('payout_batches')} other
      WHERE other.id <> ${batchId} AND other.payouts @> jsonb_build_array(jsonb_build_object('id', ${id}::text))
      LIMIT 1`.execute(db)
    found.push(...rows.map((row) => ({ ...toPaidAmount(row), holder, isElsewhere: others.rows.length > 0 })))
  }
  return found.sort((one, other) => (one.payoutId < other.payoutId ? -1 : 1))
}

/** A batch in an operator's list. `payouts` is the number of payouts. */
interface ListedBatch {
  readonly id: string
  readonly created: Date
  readonly payouts: number
}

/** Returns at most `limit` batches, newest first. */
export async function listBatches(db: Db, limit: number): Promise<readonly ListedBatch[]> {
  const { rows } = await sql<ListedBatch>`
    SELECT b.id, b.created, jsonb_array_length(b.payouts) AS payouts FROM ${sql.table('payout_batches')} b
    ORDER BY b.id DESC LIMIT ${limit}`.execute(db)
  return rows
}

/** A batch in a list for operators, with the sums of its payouts in minor units. `payouts` is the number of payouts. */
interface BatchForOperator {
  readonly id: string
  readonly created: Date
  readonly payouts: number
  readonly currencies: { currency: string; amount: number }[]
}

interface BatchColumns {
  readonly id: string
  readonly created: Date
  readonly named: readonly { readonly id: string; readonly merchantId: string }[]
}

const batches = listOfAll<BatchColumns>('all_batches', {
  table: 'payout_batches',
  columns: sql`r.id, r.created, r.payouts AS named`,
  filters: [],
})

const sumsQuery = prepareOnCoordinator(
  'payouts_of_batches',
  (p: { merchantIds: readonly string[]; ids: readonly string[] }) => sql<{
    id: string
    currency: string
    amount: bigint
  }>`
    SELECT r.id, r.currency, r.amount FROM ${sql.table('payouts')} r
    WHERE (r.merchant_id, r.id) IN (SELECT * FROM unnest(${p.merchantIds}::text[], ${p.ids}::text[]))`,
)

export async function listBatchesForOperator(pools: Pools, page: PageBounds): Promise<readonly BatchForOperator[]> {
  const rows = await batches(pools, { ...page, filters: {} })
  const named = rows.flatMap((row) => row.named)
  const input = { merchantIds: named.map(({ merchantId }) => merchantId), ids: named.map(({ id }) => id) }
  const payouts = new Map((await pools.read.all(sumsQuery, input)).map((payout) => [payout.id, payout]))
  return rows.map(({ id, created, named: own }) => {
    const sums = new Map<string, bigint>()
    for (const { id: payoutId } of own) {
      const payout = payouts.get(payoutId)
      if (payout) sums.set(payout.currency, (sums.get(payout.currency) ?? 0n) + payout.amount)
    }
    const currencies = [...sums].map(([currency, amount]) => ({ currency, amount: Number(amount) }))
    return { id, created, payouts: own.length, currencies }
  })
}
