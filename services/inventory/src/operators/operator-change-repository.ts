import { againWhenLost } from '@trestle/database/again-when-lost.ts'
import { type Lanes, transactionLanes } from '@trestle/database/lanes.ts'
import type { Operator } from '@trestle/service/operators/operator.ts'
import type { Db, Trx } from '../database.ts'
import type { AuditedChange } from './operator-change.ts'

/** Who makes a change as an operator, and by what right. */
interface ChangingOperator {
  readonly operator: Operator
  /** The Idempotency-Key; undefined for a change that `If-Match` guards. */
  readonly key: string | undefined
}

/** The database in a transaction. */
export interface TransactionDeps {
  readonly db: Db
  readonly lanes: Lanes
}

/**
 * Makes a change of an operator in one transaction with its row in the audit log (console reference: Changes). A change that is refused or
 * that repeats an earlier request adds no row. One that loses a conflict is made again.
 * @param make makes the change with the transaction. What it throws takes everything back
 * @param describe what the audit log says of what was made; undefined when nothing was
 * @throws what `make` throws
 */
export function runOperatorChange<Made>(
  db: Db,
  by: ChangingOperator,
  make: (deps: TransactionDeps) => Promise<Made>,
  describe: (made: Made) => AuditedChange | undefined,
): Promise<Made> {
  const run = () =>
    db.transaction().execute(async (trx) => {
      const made = await make({ db: trx, lanes: transactionLanes(trx) })
      const change = describe(made)
      if (change !== undefined) await insertOperatorAudit(trx, by, change)
      return made
    })
  return againWhenLost(run)
}

/** Adds the row of a change to the audit log, in the transaction of the change. */
async function insertOperatorAudit(
  trx: Trx,
  { operator, key }: ChangingOperator,
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
