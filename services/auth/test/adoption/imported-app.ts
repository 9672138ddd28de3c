import { randomBytes } from 'node:crypto'
import { authMigrations } from '@trestle/migrations/auth.ts'
import { createTemporaryDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { onTestFinished } from 'vitest'
import { type DatabaseImport, importDatabase } from '../../src/adoption/use-cases/import-database.ts'
import { type AuthConfig, loadAuthConfig } from '../../src/config.ts'
import { toEncryptionKeys } from '../../src/deps.ts'
import { migrateToLatest } from '../../src/migrations.ts'
import { openTestApp, type TestApp } from '../auth-app.ts'
import { type AdoptedApp, clockOf, type Restored, restore } from './adopted-app.ts'
import { type Manifest, readManifest, restoreDatabase, settingsFor, type Version } from './restored-database.ts'

/** The service on its own new database, and the database of supabase/auth that it imports. */
export interface ImportingApp extends AdoptedApp {
  /** Imports like the command. @param through other URLs of the two databases */
  readonly run: (through?: { readonly source?: string; readonly target?: string }) => Promise<DatabaseImport>
}

/** Restores a database for one test, and opens the service on a new one, with the clock of `restore`. */
export async function openImporting(version: Version): Promise<ImportingApp> {
  return openBeside(await restore(version))
}

/** Opens the service in addition to a restored database. @param target its database; by default a new one */
export async function openBeside(restored: Restored, target?: TemporaryDatabase): Promise<ImportingApp> {
  const { database, deps } = restored
  const settings = settingsBeside(database.manifest)
  const test = await openTestApp({
    settings: { ...settings, ...(target && { AUTH_DB_ROLE: '' }) },
    replace: () => ({ now: deps.now }),
    ...(target && { database: target }),
  })
  onTestFinished(() => test.close())
  const { config } = test.deps
  const run: ImportingApp['run'] = ({ source = database.url, target = config.database.migrationUrl } = {}) =>
    importFrom(source, { ...config, database: { ...config.database, migrationUrl: target } }, deps.now)
  return { ...test, restored, run, user: (name) => database.manifest.users.find((user) => user.name === name) }
}

/** The settings of a service that does not use the database of the old server. */
function settingsBeside(manifest: Manifest): Readonly<Record<string, string>> {
  const { AUTH_DATABASE_URL: _url, ...settings } = settingsFor({ url: '', manifest })
  return settings
}

function importFrom(source: string, config: AuthConfig, now: () => Date): Promise<DatabaseImport> {
  const deps = { config, encryptionKeys: toEncryptionKeys(config), now, randomBytes }
  return importDatabase(deps, { url: source, schema: 'auth', force: false })
}

export async function openImportedVersion(version: Version): Promise<ImportingApp> {
  const app = await openImporting(version)
  await app.run()
  return app
}

/** Opens the service on a copy of a database that imported another one, once for all tests. It cannot import again. */
export async function openImportedCopy(version: Version): Promise<TestApp> {
  const manifest = readManifest(version)
  const settings = { ...settingsBeside(manifest), AUTH_DB_ROLE: 'auth_service' }
  const now = clockOf(manifest)
  const database = await createTemporaryDatabase({
    template: `auth imported dump ${version} ${Object.keys(authMigrations).join(' ')}`,
    migrate: async (url) => {
      const config = loadAuthConfig({ ...settings, AUTH_DATABASE_URL: url, AUTH_DB_PREPARED: 'true' })
      await migrateToLatest(config)
      const source = await restoreDatabase(version)
      await importFrom(source.url, config, now)
      await source.drop()
    },
  })
  onTestFinished(() => database.drop())
  const test = await openTestApp({ settings, database, replace: () => ({ now }) })
  onTestFinished(() => test.close())
  return test
}
