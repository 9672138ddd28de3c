import { underLock } from '@trestle/database/migrations/migration-connection.ts'
import { countRecorded, dropImport, importPlacesOf } from '../adoption/import/import-record.ts'
import type { AuthDeps } from '../deps.ts'
import { migrateOptions } from '../migrations.ts'

/** The data that `import --forget` would drop, for the operator who decides on it. */
export interface ForgetImportCosts {
  /** The database that the users came from, as PostgreSQL identifies it. */
  readonly source: string
  /** The tables of the record, with their schema, and how many rows each has. */
  readonly rows: ReadonlyMap<string, number>
}

/**
 * Drops the record of an import. The next import from the same database needs it to know what has changed there.
 * @param confirm asked before anything is dropped; false drops nothing
 * @returns whether it was done
 * @throws Error where nothing was imported
 */
export async function forgetImport(
  { config }: Pick<AuthDeps, 'config'>,
  confirm: (costs: ForgetImportCosts) => Promise<boolean>,
): Promise<boolean> {
  const { url, names } = migrateOptions(config)
  const places = importPlacesOf(names)
  return underLock({ url, names }, async (db) => {
    const costs = await countRecorded(db, places)
    if (costs === undefined)
      throw new Error('nothing was imported from another database, or its record was dropped before')
    if (!(await confirm(costs))) return false
    await dropImport(db, places)
    return true
  })
}
