import { underLock } from '@trestle/database/migrations/migration-connection.ts'
import { dropImport, importPlacesOf } from '../adoption/import-record.ts'
import type { AuthDeps } from '../deps.ts'
import { migrateOptions } from '../migrations.ts'

/**
 * Drops what a further import from the same database needs.
 * @throws Error where nothing was imported
 */
export async function forgetImport({ config }: Pick<AuthDeps, 'config'>): Promise<void> {
  const { url, names } = migrateOptions(config)
  const dropped = await underLock({ url, names }, (db) => dropImport(db, importPlacesOf(names)))
  if (!dropped) throw new Error('nothing was imported from another database, or its record was dropped before')
}
