// Counters of the rate limiter. Replicas share limits through this table. The role of the service may not create it.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createRateLimits: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`CREATE TABLE ${names.id('rate_limits')} (
      key varchar(255) NOT NULL,
      points integer NOT NULL DEFAULT 0,
      expire bigint,
      CONSTRAINT ${names.local('rate_limits_pkey')} PRIMARY KEY (key)
    ) WITH (fillfactor = 80)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('rate_limits')}`.execute(db)
  },
})
