// Replicas that share rate limits through PostgreSQL need the limiter's table. The service may not create tables, so a migration
// creates it with the columns of the limiter.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createRateLimits: MigrationSource = (names) => ({
  tables: { rate_limits: 'local' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('rate_limits')} (
        key varchar(255) NOT NULL,
        points integer NOT NULL DEFAULT 0,
        expire bigint,
        CONSTRAINT ${names.local('rate_limits_pk')} PRIMARY KEY (key)
      ) WITH (fillfactor = 80)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('rate_limits')}`.execute(db)
  },
})
