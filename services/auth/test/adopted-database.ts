import { randomBytes } from 'node:crypto'
import { authMigrations } from '@trestle/migrations/auth.ts'
import { createTemporaryDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { adoptDatabase } from '../src/adoption/use-cases/adopt-database.ts'
import { type AuthConfig, loadAuthConfig } from '../src/config.ts'
import { toEncryptionKeys } from '../src/deps.ts'
import { giveToOwner, loadDump, ownerUrl, runSql } from './adoption/restored-database.ts'

const SCHEMA = 'auth'

/**
 * Creates a database of supabase/auth 2.196 without rows, which `auth adopt` has adopted. The service connects as the owner of
 * the tables. The application objects stay: a table that a trigger of `users` fills, policies and a view.
 */
export async function createAdoptedDatabase(load: (url: string) => AuthConfig = loadLeast): Promise<TemporaryDatabase> {
  const { database, compatibility } = load('postgres://nowhere')
  const { schema } = database
  const copy = await createTemporaryDatabase({
    template: `auth adopted ${schema} ${compatibility.makesPgcrypto} ${Object.keys(authMigrations).join(' ')}`,
    migrate: async (superuserUrl) => {
      await loadDump(superuserUrl, 'v2.196.0')
      await runSql(superuserUrl, EMPTY)
      if (schema !== SCHEMA) await runSql(superuserUrl, `ALTER SCHEMA ${SCHEMA} RENAME TO ${schema}`)
      await giveToOwner(superuserUrl, schema)
      const config = load(ownerUrl(superuserUrl))
      const deps = { config, now: () => new Date(), randomBytes, encryptionKeys: toEncryptionKeys(config) }
      await adoptDatabase(deps, { force: false, report: () => {} })
    },
  })
  await giveToOwner(copy.directUrl, schema)
  return { ...copy, url: ownerUrl(copy.url), entryUrl: ownerUrl(copy.entryUrl) }
}

/** Deletes the rows of all tables except the table of migrations. */
const EMPTY = `DO $$ BEGIN
  EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('%I.%I', schemaname, tablename), ', ') FROM pg_tables
    WHERE schemaname IN ('auth', 'public') AND tablename <> 'schema_migrations');
END $$`

function loadLeast(url: string): AuthConfig {
  return loadAuthConfig({
    AUTH_DATABASE_URL: url,
    AUTH_DB_DRIVER: 'postgres',
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
    AUTH_MAILER_AUTOCONFIRM: 'true',
  })
}
