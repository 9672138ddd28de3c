import { createHash } from 'node:crypto'
import { transactAgain } from '@trestle/database/again-when-lost.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import type { OperatorAction } from '@trestle/operators/operator-roles.ts'
import { sql } from 'kysely'
import type { IdempotentRequest } from '../access/caller.ts'
import type { Db, Trx } from '../database.ts'
import { idempotencyKeyReused } from '../operator-errors.ts'
import { toPayload } from './operator-audit-repository.ts'
import type { OperatorChangesTable } from './operator-tables.ts'

/**
 * Makes an operator's change in one database transaction: its effect, its answer under the Idempotency-Key, and its row in the
 * audit log (console reference: Changes). An idempotent request gets the first answer and changes nothing. If `effect` throws,
 * all is rolled back, so the key may be used again.
 *
 * Lock order: the key, then the locks of the effect. A second request with the key waits at the primary key for the first.
 * @param db the database as the role of operators
 * @throws idempotencyKeyReused, Error if the key has no stored answer, and every error of `effect`
 */
export async function runOperatorChange(
  db: Db,
  change: OperatorChange,
  effect: (trx: Trx) => Promise<OperatorEffect>,
): Promise<OperatorAnswer> {
  const { operator, idempotentRequest, status } = change
  return transactAgain(db, async (trx) => {
    const claimed = await callClaimOperatorChange(trx, change)
    if (claimed.verdict === 'key-mismatch') refuseReusedKey()
    if (claimed.verdict === 'replayed') return requireAnswer(claimed)
    const { answer, merchantId = null, object, changes } = await effect(trx)
    const body = JSON.stringify(answer)
    const payload = { ...toPayload({ ...change, object }), idempotencyKey: idempotentRequest.key, changes }
    await sql`
      SELECT ${sql.table('finish_operator_change')}(
        ${operator.actor.id}, ${idempotentRequest.key}, ${status}::int, ${body}, ${merchantId}, ${change.action}, ${payload}
      )`.execute(trx)
    return { status, body, replayed: false }
  })
}

/** Returns the stored answer of an earlier change. The transaction that claims a key also stores the answer. */
function requireAnswer({ status, body }: ClaimedRow): OperatorAnswer {
  if (status === null || body === null) throw new Error('the change of an operator has no answer')
  return { status, body, replayed: true }
}

/** Refuses a change whose Idempotency-Key was used for another request. @throws idempotencyKeyReused */
export function refuseReusedKey(): never {
  throw idempotencyKeyReused()
}

interface ClaimedRow extends Readonly<Pick<OperatorChangesTable, 'status' | 'body'>> {
  readonly verdict: 'claimed' | 'replayed' | 'key-mismatch'
}

async function callClaimOperatorChange(
  trx: Trx,
  { operator, idempotentRequest: { method, path, key, fingerprint: ofBody } }: OperatorChange,
): Promise<ClaimedRow> {
  const fingerprint = createHash('sha256').update(`${method} ${path}\n`).update(ofBody).digest()
  const { rows } = await sql<ClaimedRow>`
    SELECT * FROM ${sql.table('claim_operator_change')}(${operator.actor.id}, ${key}, ${fingerprint})`.execute(trx)
  const [row] = rows
  if (!row) throw new Error('claim_operator_change answered no row')
  return row
}

export interface OperatorChange {
  readonly operator: Operator
  readonly action: OperatorAction
  readonly idempotentRequest: IdempotentRequest
  /** The status of the answer as the route documents it. It is below 300. */
  readonly status: number
}

/** The answer to an operator's change, and its entry in the audit log. */
export interface OperatorEffect {
  readonly answer: object
  /** The changed object, for the audit log. */
  readonly object: { readonly kind: string; readonly id: string }
  /** Absent if the object belongs to no merchant. */
  readonly merchantId?: string
  /** The changed values, for the audit log. Must not contain a secret. */
  readonly changes: object
}

/** The answer to a change. `replayed` is `true` if an earlier request made the change. */
export interface OperatorAnswer {
  readonly status: number
  /** The body as JSON text. */
  readonly body: string
  readonly replayed: boolean
}
