// The counters of rate-limiter-flexible if RATE_LIMIT_STORE is `postgres`, with the columns of the library. A migration creates
// the table, because the role of the service may not. It is unlogged, because counting from zero after a crash is acceptable.
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
