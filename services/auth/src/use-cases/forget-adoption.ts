import { underLock } from '@trestle/database/migrations/migration-connection.ts'
import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { readDependents } from '@trestle/database/violations.ts'
import { isLeftOver, placesOf, readRecord } from '../adoption/adoption-record.ts'
import { listReplaced } from '../adoption/changes/migrations-in-place.ts'
import { countKept, dropKeptTables } from '../adoption/undo/drop-adoption.ts'
import type { AuthDeps } from '../deps.ts'
import { adoptOptions } from '../migrations.ts'

/** The rows that `adopt --forget` would drop, for the operator who decides on it. */
export interface ForgetCosts {
  /** When this service took over. */
  readonly switchedAt: Date
  /** The tables that are dropped, with their schema, and how many rows each has. */
  readonly rows: ReadonlyMap<string, number>
}

/**
 * Drops what undo needs: the tables of supabase/auth that have moved, with everything in them. Until an adoption is finished, the
 * entries of the audit log may be there alone.
 * @param confirm asked before anything is dropped; false drops nothing
 * @returns whether it was done
 * @throws Error where nothing was adopted, the adoption is not finished, or something of others depends on these tables
 */
export async function forgetAdoption(
  { config }: Pick<AuthDeps, 'config'>,
  confirm: (costs: ForgetCosts) => Promise<boolean>,
): Promise<boolean> {
  const target = adoptOptions(config)
  const places = placesOf(target.names)
  return underLock(target, async (db) => {
    const record = await readRecord(db, places)
    if (record === undefined) throw new Error(`the schema ${places.kept} is not there: there is nothing to forget`)
    const { switchedAt, finishedAt } = record
    if (switchedAt === null || (finishedAt === null && !(await isLeftOver(db, places, record))))
      throw new Error('the adoption is not finished: run auth adopt again, or adopt --undo')
    const replaced = await listReplaced(target.names)
    if (!(await confirm({ switchedAt, rows: await countKept(db, places, replaced) }))) return false
    try {
      await inLatest(db).execute((trx) => dropKeptTables(trx, places, replaced))
    } catch (error) {
      const dependents = readDependents(error)
      if (dependents.length === 0) throw error
      throw new Error(
        `nothing was dropped: change or drop first what depends on the old tables\n${dependents.join('\n')}`,
      )
    }
    return true
  })
}
