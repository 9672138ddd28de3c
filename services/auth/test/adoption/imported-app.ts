import { randomBytes } from 'node:crypto'
import type { TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { onTestFinished } from 'vitest'
import { toEncryptionKeys } from '../../src/deps.ts'
import { type DatabaseImport, importDatabase } from '../../src/use-cases/import-database.ts'
import { openTestApp } from '../auth-app.ts'
import { type AdoptedApp, type Restored, restore } from './adopted-app.ts'
import { settingsFor, type Version } from './restored-database.ts'

/** The service on a new database of its own, and the database of supabase/auth that it imports. */
export interface ImportingApp extends AdoptedApp {
  /** Imports as the command does. @param through other ways to the two databases */
  readonly run: (through?: { readonly source?: string; readonly target?: string }) => Promise<DatabaseImport>
}

/** Restores a database for one test, and opens the service on a new one. The clock is that of `restore`. */
export async function openImporting(version: Version): Promise<ImportingApp> {
  return openBeside(await restore(version))
}

/** Opens the service beside a restored database. @param target its own database; by default a new one */
export async function openBeside(restored: Restored, target?: TemporaryDatabase): Promise<ImportingApp> {
  const { database, deps } = restored
  const { AUTH_DATABASE_URL: _url, ...settings } = settingsFor(database)
  const test = await openTestApp({
    settings: { ...settings, ...(target && { AUTH_DB_ROLE: '' }) },
    replace: () => ({ now: deps.now }),
    ...(target && { database: target }),
  })
  onTestFinished(() => test.close())
  const { config } = test.deps
  const run: ImportingApp['run'] = ({ source = database.url, target = config.database.migrationUrl } = {}) =>
    importDatabase(
      {
        config: { ...config, database: { ...config.database, migrationUrl: target } },
        encryptionKeys: toEncryptionKeys(config),
        now: deps.now,
        randomBytes,
      },
      { url: source, schema: 'auth' },
      { force: false },
    )
  return { ...test, restored, run, user: (name) => database.manifest.users.find((user) => user.name === name) }
}

/** Restores, imports and opens. */
export async function openImportedVersion(version: Version): Promise<ImportingApp> {
  const app = await openImporting(version)
  await app.run()
  return app
}
