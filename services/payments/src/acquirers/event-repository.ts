import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Db } from '../database.ts'
import type { Money } from '../money/minor-units.ts'
import { toStorable } from '../requests/fields.ts'
import type { AcquirerEvent } from './acquirer.ts'
import type { AcquirerException } from './exception-repository.ts'

/** The reference by which an acquirer identifies one of its objects, for one merchant. */
export interface AcquirerReference {
  readonly merchantId: string
  readonly acquirer: string
  readonly reference: string
}

/**
 * Returns the id of the transaction that an acquirer authorized under its reference. Returns `ambiguous` if several transactions
 * have the reference, and `undefined` if none has it.
 */
export async function findAuthorized(
  db: Db,
  { merchantId, acquirer, reference }: AcquirerReference,
): Promise<{ readonly id: string } | 'ambiguous' | undefined> {
  const [row, another] = await db
    .selectFrom('transactions')
    .select('id')
    .where('merchant_id', '=', merchantId)
    .where('acquirer_ref', '=', reference)
    .where('acquirer', '=', acquirer)
    .limit(2)
    .execute()
  return another ? 'ambiguous' : row
}

/** A dispute that an acquirer names, with the amount that it may take. */
interface Disputed {
  readonly id: string
  readonly status: string
  readonly amount: number
  readonly currency: string
}

/** The dispute with a reference, opened by an event or an operator, or `undefined`. */
export async function findDisputed(
  db: Db,
  { merchantId, acquirer, reference }: AcquirerReference,
): Promise<Disputed | undefined> {
  const row = await db
    .selectFrom('disputes')
    .select(['id', 'status', 'amount', 'currency'])
    .where('merchant_id', '=', merchantId)
    .where('acquirer_ref', '=', `${acquirer}:${reference}`)
    .executeTakeFirst()
  return row && { ...row, amount: Number(row.amount) }
}

interface BookSettlementCall extends Money {
  readonly merchantId: string
  readonly acquirer: string
  readonly acquirerRef: string
}

export type SettlementProblem =
  | 'unknown-merchant'
  | 'test-merchant'
  | 'other-acquirer'
  | 'unknown-currency'
  | 'nothing'
  | 'too-much'
  | 'too-much-back'

const settleQuery = prepare(
  'book_settlement',
  (p: BookSettlementCall) => sql<{ verdict: 'done' | 'repeated' | SettlementProblem }>`
    SELECT ${sql.table('book_settlement')}(${p.merchantId}, ${p.acquirer}, ${p.currency}, ${p.amount}, ${p.acquirerRef})
      AS verdict`,
)

/**
 * Books the payment of an acquirer, once for each reference. Returns why the settlement is refused, or `undefined` if it is
 * booked.
 */
export async function callBookSettlement(
  pools: Pools,
  input: BookSettlementCall,
): Promise<SettlementProblem | undefined> {
  const { verdict } = await pools.write.one(settleQuery, input)
  return verdict === 'done' || verdict === 'repeated' ? undefined : verdict
}

/** This amount is larger than that of any dispute, so payouts hold back the whole balance. */
const UNREADABLE = { amount: Number.MAX_SAFE_INTEGER, currency: undefined }

/** The amount that payouts hold back: of a dispute that could not be opened, or that is lost after it was won. */
export async function findWithheld(
  db: Db,
  acquirer: string,
  event: AcquirerEvent,
): Promise<AcquirerException['disputed']> {
  if (event.type === 'dispute.opened') return { amount: event.amount, currency: event.currency }
  if (event.type === 'unknown') return event.disputed === null ? UNREADABLE : event.disputed
  if (event.type !== 'dispute.lost') return undefined
  const { merchantId, disputeReference: reference } = event
  const dispute = await findDisputed(db, { merchantId, acquirer, reference })
  return dispute?.status === 'won' ? { amount: dispute.amount, currency: dispute.currency } : undefined
}

interface AppliedList {
  readonly acquirer: string
  readonly merchants: ReadonlySet<string>
  /** The merchants whose events wait, each with the reference of the event that fails. */
  readonly held: ReadonlyMap<string, string>
}

/**
 * Holds back the payouts of each merchant whose events wait, because one of them may be a dispute. Releases payouts of the other
 * merchants (reference: Events of an acquirer). Logs errors, so that other events are still processed.
 */
export async function recordWaiting(
  { db, logger }: { readonly db: Db; readonly logger: Pick<Logger, 'error'> },
  { acquirer, merchants, held }: AppliedList,
): Promise<void> {
  const report = (err: unknown) =>
    logger.error({ err, acquirer }, 'payouts of a merchant whose events wait could be neither held back nor freed')
  const record = (merchantId: string, reference: string | undefined) =>
    callHoldEvents(db, { merchantId, acquirer, reference }).catch(report)
  for (const [merchantId, reference] of held) await record(merchantId, reference)
  const merchantIds = [...merchants].filter((id) => !held.has(id))
  const released = await listHeld(db, { acquirer, merchantIds }).catch(report)
  for (const merchantId of released ?? []) await record(merchantId, undefined)
}

interface HoldEventsCall {
  readonly merchantId: string
  readonly acquirer: string
  /** `undefined` if no event waits any longer. */
  readonly reference: string | undefined
}

async function callHoldEvents(db: Db, { merchantId, acquirer, reference }: HoldEventsCall): Promise<void> {
  const payload = reference && { type: 'events.waiting', acquirer, reference: toStorable(reference) }
  await sql`SELECT ${sql.table('hold_events')}(${merchantId}, ${acquirer}, ${JSON.stringify(payload) ?? null}::jsonb)`.execute(
    db,
  )
}

async function listHeld(
  db: Db,
  { acquirer, merchantIds }: { readonly acquirer: string; readonly merchantIds: readonly string[] },
): Promise<readonly string[]> {
  if (merchantIds.length === 0) return []
  const rows = await db
    .selectFrom('acquirer_exceptions')
    .select('merchant_id')
    .where('merchant_id', 'in', [...merchantIds])
    .where('id', '=', sql<string>`${sql.table('exception_id')}(${`waiting ${acquirer}`})`)
    .where('resolved', 'is', null)
    .execute()
  return rows.map(({ merchant_id }) => merchant_id)
}
