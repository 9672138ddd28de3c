import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { type Lanes, transactionLanes } from '@trestle/database/lanes.ts'
import type { Db, Trx } from '../database.ts'
import type { AuditedChange, OperatorChange } from './operator-change.ts'

/** The database that a change works with: that of the process, or a transaction. */
export interface ChangeDeps {
  readonly db: Db
  readonly lanes: Lanes
}

/**
 * Makes a change. That of an operator is made in one transaction with its row in the audit log (console reference: Changes). If
 * it loses a conflict, it is made again.
 * @param operatorChange undefined: no operator asks for the change, so there is neither a transaction nor a row
 * @param make makes the change. If it throws, nothing is changed
 * @param toEntry returns the row; undefined if the change was refused, or repeats an earlier request
 */
export function runAuditedChange<Deps extends ChangeDeps, Made>(
  deps: Deps,
  operatorChange: OperatorChange | undefined,
  make: (deps: Deps) => Promise<Made>,
  toEntry: (made: Made, deps: Deps) => AuditedChange | undefined | Promise<AuditedChange | undefined>,
): Promise<Made> {
  if (operatorChange === undefined) return make(deps)
  return transactAgain(deps.db, async (trx) => {
    const own = { ...deps, db: trx, lanes: transactionLanes(trx) }
    const made = await make(own)
    const entry = await toEntry(made, own)
    if (entry !== undefined) await insertOperatorAudit(trx, operatorChange, entry)
    return made
  })
}

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
