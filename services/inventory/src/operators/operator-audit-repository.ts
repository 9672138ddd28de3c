import { againWhenLost } from '@trestle/database/again-when-lost.ts'
import { type Lanes, transactionLanes } from '@trestle/database/lanes.ts'
import { sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import type { AuditEntry } from './audit-entry.ts'
import type { AuditedChange, ChangingOperator } from './audited-change.ts'

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
export function runAudited<Made>(
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

/** Which entries a list has. `order`: by time. */
export interface AuditSelection {
  readonly productId?: number | undefined
  readonly order: 'asc' | 'desc'
}

/** Entries of the audit log in order, at most `limit`. With `after`, those that come after the entry with that id; 0 for all. */
export async function listOperatorAudit(
  db: Db,
  { productId, order }: AuditSelection,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly AuditEntry[]> {
  const isLater = order === 'asc' ? sql`id > ${after}` : sql`id < ${after}`
  const conditions = [
    after > 0 && isLater,
    productId !== undefined && sql`product_ids @> ARRAY[${productId}::bigint]`,
  ].filter((condition) => condition !== false)
  const { rows } = await sql<AuditEntry>`
    SELECT id::float8, created_at AS created, action,
      json_build_object('id', actor_id, 'email', actor_email) AS actor, key_name AS key, role, address,
      json_build_object('kind', object_kind, 'id', object_id) AS object,
      idempotency_key AS "idempotencyKey", changes
    FROM ${sql.table('operator_audit')}
    WHERE ${conditions.length > 0 ? sql.join(conditions, sql` AND `) : sql`true`}
    ORDER BY id ${order === 'asc' ? sql`ASC` : sql`DESC`} LIMIT ${limit}`.execute(db)
  return rows
}
