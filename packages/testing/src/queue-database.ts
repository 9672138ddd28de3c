import { createNoopMeter } from '@opentelemetry/api'
import { openDatabase } from '@trestle/database/connect.ts'
import { type MigrateOptions, migrateUp } from '@trestle/database/migrations/migrate.ts'
import { grantToRole } from '@trestle/database/rights/roles.ts'
import { installJobs } from '@trestle/jobs/install.ts'
import type { JobsConfig } from '@trestle/jobs/jobs.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import type { Kysely } from 'kysely'
import { createTemporaryDatabase, prepared } from './temporary-database.ts'

/** The queue of a test, and the other contents of its database. */
export interface QueueDatabaseOptions {
  readonly names: MigrateOptions['names']
  readonly tasks: readonly AnyTask[]
  /** The tables of the test. `undefined` means no tables. */
  readonly sources?: MigrateOptions['sources']
}

export interface QueueDatabase {
  readonly url: string
  /** Connections with the rights of a service. */
  readonly db: Kysely<object>
  /** The argument for `createJobs`. */
  readonly config: JobsConfig
  readonly drop: () => Promise<void>
}

/** Creates a database with the queue of `tasks`, like `migrate` of a service. */
export async function createQueueDatabase({ names, tasks, sources }: QueueDatabaseOptions): Promise<QueueDatabase> {
  const role = `${names.jobSchema}_service`
  const temporary = await createTemporaryDatabase({
    template: names.jobSchema,
    migrate: (url) =>
      migrateUp({
        url,
        names,
        sources: sources ?? { '0001-schema': () => ({ up: async () => {} }) },
        afterwards: [
          (db) => installJobs(db, { url, schema: names.jobSchema, tasks }),
          (db) => grantToRole(db, { names, role, appendOnly: [] }),
        ],
      }),
  })
  const connection = { url: temporary.url, role, prepared, applicationName: 'test' }
  const limits = { poolSize: 4, statementTimeoutMs: 5_000, lockTimeoutMs: 2_000 }
  const database = openDatabase<object>({ ...connection, ...limits, names, onConnectionError: () => {} })
  return {
    url: temporary.url,
    db: database.db,
    config: {
      ...connection,
      schema: names.jobSchema,
      payloadKeys: [Buffer.alloc(32, 7)],
      meter: createNoopMeter(),
      onError: () => {},
      now: () => new Date(),
    },
    drop: async () => {
      await database.close()
      await temporary.drop()
    },
  }
}
