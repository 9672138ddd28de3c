import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { type Pools, transactionPools } from '@trestle/database/pools.ts'
import { OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import { sql } from 'kysely'
import { z } from 'zod'
import type { Db, Trx } from '../database.ts'
import type { AuditedChange, OperatorChange } from './operator-change.ts'

/** The database of a change: the database of the process, or a transaction. */
export interface ChangeDeps {
  readonly db: Db
  readonly pools: Pools
}

/**
 * Makes a change. An operator's change is made in one transaction with its row in the audit log (console reference: Changes). If
 * it loses a conflict, it is repeated.
 * @param operatorChange `undefined` if no operator requests the change, which then has no transaction and no row
 * @param make makes the change. If it throws, nothing is changed.
 * @param toEntry returns the row, or `undefined` if the change was refused or repeats an earlier request
 */
export function runAuditedChange<Deps extends ChangeDeps, Made>(
  deps: Deps,
  operatorChange: OperatorChange | undefined,
  make: (deps: Deps) => Promise<Made>,
  toEntry: (made: Made, deps: Deps) => AuditedChange | undefined | Promise<AuditedChange | undefined>,
): Promise<Made> {
  if (operatorChange === undefined) return make(deps)
  return transactAgain(deps.db, async (trx) => {
    const own = { ...deps, db: trx, pools: transactionPools(trx) }
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

interface AuditSelection {
  /** Only changes of this product and its stock. */
  readonly productId?: number | undefined
  /** The order of the entries by time. `desc`: newest first. */
  readonly order: 'asc' | 'desc'
}

interface AuditBounds {
  /** The id of the previous entry, or 0 for the first page. */
  readonly after: number
  readonly limit: number
}

/** Lists the audit log of operators (console reference: Audit of operators). */
export async function listOperatorAudit(
  db: Db,
  { productId, order }: AuditSelection,
  { after, limit }: AuditBounds,
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

export const AuditEntryView = z
  .object({
    id: z.int(),
    created: z.iso.datetime({ precision: 3 }).meta({ description: 'When the change was made' }),
    action: z.string().meta({ description: 'What was done, such as products.change' }),
    actor: z.object({ id: z.guid(), email: z.string() }).meta({ description: 'The operator' }),
    key: z.string().meta({ description: 'The name of the operator key' }),
    role: z.enum(OPERATOR_ROLES).meta({ description: 'The role that counted' }),
    address: z.string().meta({ description: 'The address of the operator’s browser' }),
    object: z.object({ kind: z.string(), id: z.int() }).meta({ description: 'What was changed' }),
    idempotencyKey: z.string().nullable().meta({ description: 'The Idempotency-Key of the change, where it had one' }),
    changes: z.looseObject({}).meta({ description: 'How the object was changed' }),
  })
  .meta({ id: 'AuditEntry' })

interface AuditEntry extends Omit<z.output<typeof AuditEntryView>, 'created'> {
  readonly created: Date
}
