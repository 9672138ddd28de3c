import { type Database, openDatabase } from '@trestle/database/connect.ts'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { authMigrations } from '@trestle/migrations/auth.ts'
import { createTemporaryDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import type { AuthTables } from '../src/database.ts'
import { serviceFunctions } from '../src/migrations.ts'

/** A migrated database of a test file's own, opened as the service opens it: under its restricted role. */
export interface TestDatabase extends Database<AuthTables> {
  readonly url: string
  /** Closes the connections and drops the database. */
  drop(): Promise<void>
}

const ROLE = 'auth_service'

/** @param namespace DB_NAMESPACE */
export async function openTestDatabase(namespace = ''): Promise<TestDatabase> {
  const names = createNames('auth', namespace)
  const temporary = await createTemporaryDatabase({
    template: `auth ${namespace} ${Object.keys(authMigrations).join(' ')}`,
    migrate: (url) =>
      migrateUp({
        url,
        names,
        sources: authMigrations,
        functions: serviceFunctions({}),
        grants: { role: ROLE, appendOnly: [] },
      }),
  })
  const database = openDatabase<AuthTables>({
    url: temporary.url,
    names,
    applicationName: 'test',
    poolSize: 16,
    role: ROLE,
    statementTimeoutMs: 9_000,
    lockTimeoutMs: 5_000,
    prepared,
    timestamps: 'rfc3339',
    onConnectionError: () => {},
  })
  return {
    ...database,
    url: temporary.url,
    drop: async () => {
      await database.close()
      await temporary.drop()
    },
  }
}
