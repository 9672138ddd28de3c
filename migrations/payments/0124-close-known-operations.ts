// Why: closing an operation inserted its row when there was none. A forged job for an entry that books a rejected operation
// again ("accepted …") therefore got a row, and the acquirer refunded twice. Since 0118 every operation that was handed over has
// a row, so a missing row is an error.
import type { Kysely } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { anySpacing, editFunction, type FunctionEdit } from './edit-function.ts'

export const closeKnownOperations: MigrationSource = (names) => {
  const operations = `"${names.schema}"."${names.prefix}acquirer_operations"`
  const name = 'operation_close'
  const insert = `-- An operation that a version before this one has handed over has no row yet.
      INSERT INTO ${operations} (merchant_id, id, created, transaction_id, kind)
        VALUES (p_merchant_id, p_id, entry.created, held.id, entry.kind) ON CONFLICT DO NOTHING;
      SELECT o.status INTO status FROM`
  const expect = '-- Nothing was handed over where there is no row.\n      SELECT o.status INTO STRICT status FROM'
  const forth: FunctionEdit = { name, from: anySpacing(insert), to: expect }
  const back: FunctionEdit = { name, from: anySpacing(expect), to: insert }
  return {
    up: (db: Kysely<unknown>) => editFunction(db, names, forth),
    down: (db: Kysely<unknown>) => editFunction(db, names, back),
  }
}
