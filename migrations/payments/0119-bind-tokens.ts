// Why: a token of a card was good at every merchant until it was spent, so that one that leaked could pay anywhere. It belongs to
// the merchant that uses it first: clients make tokens before they name a merchant.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

/** Not below a merchant: of two merchants that use a token at once, the key lets one have it. */
export const bindTokens: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('token_merchants')} (
        jti text COLLATE "C" NOT NULL,
        merchant_id text COLLATE "C" NOT NULL,
        expires timestamptz(3) NOT NULL,
        CONSTRAINT ${names.local('token_merchants_pk')} PRIMARY KEY (jti)
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('token_merchants_expires_ix')} ON ${names.id('token_merchants')} (expires)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('token_merchants')}`.execute(db)
  },
})
