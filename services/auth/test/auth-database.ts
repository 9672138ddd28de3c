import { type Database, openDatabase } from '@trestle/database/connect.ts'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { authMigrations } from '@trestle/migrations/auth.ts'
import {
  adopted,
  createTemporaryDatabase,
  prepared,
  type TemporaryDatabase,
} from '@trestle/testing/temporary-database.ts'
import type { AuthTables } from '../src/database.ts'
import { serviceFunctions } from '../src/migrations.ts'
import { createAdoptedDatabase } from './adopted-database.ts'

/** A migrated database for one test file. It is opened as the service does, with its restricted role. */
export interface TestDatabase extends Database<AuthTables> {
  readonly url: string
  drop(): Promise<void>
}

const ROLE = 'auth_service'

/** @param namespace the value of DB_NAMESPACE */
export async function openTestDatabase(namespace = ''): Promise<TestDatabase> {
  const names = createNames('auth', adopted ? '' : namespace)
  const temporary = await (adopted ? createAdoptedDatabase() : createMigratedDatabase(namespace))
  const database = openDatabase<AuthTables>({
    url: temporary.url,
    names,
    applicationName: 'test',
    poolSize: 16,
    role: adopted ? undefined : ROLE,
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 10_000,
    connectionWaitMs: 60_000,
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

function createMigratedDatabase(namespace: string): Promise<TemporaryDatabase> {
  return createTemporaryDatabase({
    template: `auth ${namespace} ${Object.keys(authMigrations).join(' ')}`,
    migrate: (url) =>
      migrateUp({
        url,
        names: createNames('auth', namespace),
        sources: authMigrations,
        functions: serviceFunctions({}),
        grants: { role: ROLE, appendOnly: [] },
      }),
  })
}
