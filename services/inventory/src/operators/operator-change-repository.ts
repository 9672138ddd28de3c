import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { type Lanes, transactionLanes } from '@trestle/database/lanes.ts'
import type { Db, Trx } from '../database.ts'
import type { AuditedChange, OperatorChange, OperatorEffect } from './operator-change.ts'

/** The database in a transaction. */
export interface TransactionDeps {
  readonly db: Db
  readonly lanes: Lanes
}

/**
 * Makes a change of an operator in one transaction with its row in the audit log (console reference:
 * Changes). A change that is refused or that repeats an earlier request adds no row. A change that loses a
 * conflict is made again.
 * @param effect makes the change with the transaction. What it throws takes everything back
 * @throws the error of `effect`
 */
export function runOperatorChange<Made>(
  db: Db,
  change: OperatorChange,
  effect: (deps: TransactionDeps) => Promise<OperatorEffect<Made>>,
): Promise<Made> {
  return transactAgain(db, async (trx) => {
    const { made, audited } = await effect({ db: trx, lanes: transactionLanes(trx) })
    if (audited !== undefined) await insertOperatorAudit(trx, change, audited)
    return made
  })
}

/** Adds the row of a change to the audit log, in the transaction of the change. */
async function insertOperatorAudit(
  trx: Trx,
  { operator, key }: OperatorChange,
  { action, object, productIds, changes }: AuditedChange,
): Promise<void> {
  const { actor, key: keyName, role, address } = operator
  await trx
    .insertInto('operator_audit')
    .values({
      action,
      actor_id: actor.id,
      actor_email: actor.email,
      key_name: keyName,
      role,
      address,
      object_kind: object.kind,
      object_id: BigInt(object.id),
      product_ids: productIds.map(BigInt),
      idempotency_key: key ?? null,
      changes: JSON.stringify(changes),
    })
    .execute()
}
