// The counters of rate-limiter-flexible when RATE_LIMIT_STORE is `postgres`. The columns are the library's own. A migration
// makes the table because the role of the service may not create tables. It is unlogged: after a crash, counting from zero is
// fine.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createRateLimits: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE UNLOGGED TABLE ${names.id('rate_limits')} (
        key varchar(255) CONSTRAINT ${names.local('rate_limits_pkey')} PRIMARY KEY,
        points integer NOT NULL DEFAULT 0,
        expire bigint
      ) WITH (fillfactor = 80)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('rate_limits')}`.execute(db)
  },
})
