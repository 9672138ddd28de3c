import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'

/**
 * The table of migrations of the chain that the baseline replaces. supabase/auth has a table of this name with other columns.
 */
export const OLD_CHAIN = 'schema_migrations'

/**
 * Functions of the old chain that the baseline does not have. Only their names tell them from functions that the operator has
 * made in the same schema.
 */
export const oldFunctions: readonly string[] = [
  // payments
  ...['charge_begin', 'charge_finish', 'clock_advance', 'dispute_close', 'dispute_open', 'fraud_add', 'move_many'],
  ...['next_capture', 'operation_close', 'payment_begin', 'payment_finish', 'payout', 'payout_close', 'scheme_settle'],
  'settle_scheme',
  // inventory
  ...['admit_target', 'book', 'give_back', 'hold_levels', 'places_of'],
]

/** Composite types of the old chain that the baseline does not have. */
export const oldTypes: readonly string[] = ['move_item', 'move_result']

/** Refuses a database whose tables were made by migrations before the baseline. @throws Error that says how to go on */
export async function refuseOldChain(db: Kysely<unknown>, names: Names): Promise<void> {
  if (await hasOldChain(db, names)) {
    throw new Error('the migrations of this database were replaced by a baseline: run migrate rebase')
  }
}

/** Whether the database was made by the old chain: its table of migrations has a column that supabase/auth's lacks. */
export async function hasOldChain(db: Kysely<unknown>, { schema, prefix }: Names): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM information_schema.columns
    WHERE table_schema = ${schema} AND table_name = ${prefix + OLD_CHAIN} AND column_name = 'timestamp'`.execute(db)
  return rows.length > 0
}
