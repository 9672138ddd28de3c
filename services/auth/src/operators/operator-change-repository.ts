import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { Db, Trx } from '../database.ts'
import { idempotencyKeyReused } from '../operator-errors.ts'
import { openSecret, type SealedSecret, sealSecret } from '../secrets/sealed-secret.ts'
import { findLiveSessionOfLocked } from '../sessions/active-caller.ts'
import type { Profile } from '../users/profile-repository.ts'
import { viewUser } from '../users/user-view.ts'
import {
  type OperatorAnswer,
  type OperatorChange,
  type OperatorEffect,
  requireSameOperator,
  toOperatorActor,
} from './operator-change.ts'

/**
 * Runs the work of an act once per Idempotency-Key, and records it in the same transaction: its answer under the key, and its
 * entry in the audit log (console reference: Changes). A repeat gets the first answer and does nothing. An error of the work
 * rolls back, so the key may be used again.
 *
 * Lock order: the key, the operator and the user of the path, then the locks of the work. A second request with the key waits for
 * the first at the primary key.
 * @param toEffect the effect of the work for the operator. If it throws, the change is refused
 */
export function recordOperatorChange<Result>(
  change: OperatorChange,
  toEffect: (result: Result) => OperatorEffect,
): RunWork<Result, OperatorAnswer> {
  return async (trx, deps, work) => {
    const id = await claimChange(trx, change, deps.now())
    await requireStillOperator(trx, change)
    // The row of another request is committed, so its answer is there.
    if (id === undefined) return getAnswer(trx, change)
    const { status, answer, object, changes } = toEffect(await work())
    const body = JSON.stringify(answer)
    await updateAnswer(trx, id, { status, sealed_body: sealSecret(change.sealing, id, body) })
    const { operator, action, key: idempotencyKey } = change
    const { actor, key, role, address } = operator
    const { id: actorId, email } = actor
    await recordAudit(trx, deps, {
      action: `operator.${action}`,
      actor: { id: actorId, email, phone: null, userMetadata: {}, isSsoUser: false },
      target: { id: object.kind === 'user' ? object.id : actorId },
      ip: address,
      traits: { action, actor: { id: actorId, email }, key, role, address, idempotencyKey, object, changes },
    })
    return { status, body, replayed: false }
  }
}

/**
 * Requires that the operator of a change still has the role. The body may have come long after the headers, and another operator
 * may have banned the operator, ended the session or taken the role meanwhile. Their row stays locked until the change is made,
 * so such an act waits for the change. Two operators who change each other at once lock both rows in the order of their ids, so
 * that the second one is judged after the first change. A user that the work finds, such as by an email, is locked outside of
 * this order: a change that loses a deadlock runs again.
 */
async function requireStillOperator(trx: Trx, change: OperatorChange): Promise<void> {
  const { session, userId } = change
  const users = trx.selectFrom('users').select('id')
  for (const id of [...new Set([session.userId, userId ?? session.userId])].sort()) {
    const row = users.where('id', '=', id)
    // A shared lock of the operator's own row lets their other changes go on.
    await (id === userId ? row.forNoKeyUpdate() : row.forShare()).execute()
  }
  requireSameOperator(change, toOperatorActor(session, await findLiveSessionOfLocked(trx, session.limits, session)))
}

/** Runs and records the work of an act as `recordOperatorChange` does, where the answer is the user as they are now. */
export function recordUserChange(
  change: OperatorChange,
  changes: object,
  status = 200,
): RunWork<Profile, OperatorAnswer> {
  return recordOperatorChange(change, (changed) => {
    const { id } = changed.user
    return { status, answer: { user: viewUser(changed) }, object: { kind: 'user', id }, changes }
  })
}

/**
 * Finds the answer to a change that was made before; undefined for a new one. A repeated request that finds its answer skips the
 * steps before the transaction, such as a call of a hook.
 * @throws idempotencyKeyReused, and Error for a row that was committed without its answer, or whose key the settings lack
 */
export async function findOperatorAnswer(db: Db, change: OperatorChange): Promise<OperatorAnswer | undefined> {
  const row = await db
    .selectFrom('operator_changes')
    .select(['id', 'fingerprint', 'status', 'sealed_body as sealed'])
    .where('actor_id', '=', change.operator.actor.id)
    .where('key', '=', change.key)
    .executeTakeFirst()
  if (row === undefined) return undefined
  if (!change.knownFingerprints.some((known) => known.equals(row.fingerprint))) throw idempotencyKeyReused()
  const { id, status, sealed } = row
  // The transaction that inserts a row also updates it with the answer.
  if (status === null || sealed === null) throw new Error('the change of an operator has no answer')
  return { status, body: openSecret(change.sealing.encryptionKeys, id, sealed), replayed: true }
}

async function getAnswer(trx: Trx, change: OperatorChange): Promise<OperatorAnswer> {
  const answer = await findOperatorAnswer(trx, change)
  if (answer === undefined) throw new Error('the change of an operator was deleted meanwhile')
  return answer
}

/** How many old rows a change deletes, so that they go as fast as they come. */
const OLD_ROWS_MAX = 100

/**
 * Claims the key of a change, and deletes some rows that are older than a day.
 * @returns the id of the row; undefined when the key has been used
 */
async function claimChange(
  trx: Trx,
  { operator, key, fingerprint }: OperatorChange,
  at: Date,
): Promise<string | undefined> {
  const changes = sql.table('operator_changes')
  await sql`
    DELETE FROM ${changes} WHERE (actor_id, key) IN (
      SELECT actor_id, key FROM ${changes} WHERE created_at < ${at}::timestamptz - interval '24 hours'
      LIMIT ${sql.lit(OLD_ROWS_MAX)} FOR UPDATE SKIP LOCKED)`.execute(trx)
  const id = randomUUID()
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('operator_changes')
    .values({ id, actor_id: operator.actor.id, key, fingerprint, created_at: at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n ? id : undefined
}

async function updateAnswer(
  trx: Trx,
  id: string,
  answer: { readonly status: number; readonly sealed_body: SealedSecret },
): Promise<void> {
  await trx.updateTable('operator_changes').set(answer).where('id', '=', id).execute()
}
