import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// The counters of rate-limiter-flexible when RATE_LIMIT_STORE is `postgres`; the columns are the library's own. Made
// here because the service's role may not create tables. Unlogged: after a crash, starting from zero is fine.
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
