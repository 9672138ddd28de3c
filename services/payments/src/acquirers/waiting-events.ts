import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Db } from '../database.ts'
import { toStorable } from '../requests/fields.ts'

/** A list of an acquirer, after its events were applied. */
export interface AppliedList {
  readonly acquirer: string
  /** The merchants of the list. */
  readonly merchants: ReadonlySet<string>
  /** The merchants whose events wait, with the reference of the event that fails. */
  readonly held: ReadonlyMap<string, string>
}

/**
 * Holds back the payouts of each merchant whose events wait, because a dispute may be among them, and frees those of the other
 * merchants of the list (reference: Events of an acquirer). An error is logged, so that it keeps no other event waiting.
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
  /** Undefined: no event waits any more. */
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
