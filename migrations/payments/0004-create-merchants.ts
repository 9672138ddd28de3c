// Why: a merchant holds everything below it; its tag, in the last digits of each id, is how a row finds its merchant.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createMerchants: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('merchants')} (
        id text COLLATE "C" NOT NULL,
        tag text COLLATE "C" NOT NULL,
        key uuid NOT NULL,
        name text,
        currency text NOT NULL,
        test boolean NOT NULL,
        email text NOT NULL,
        website text NOT NULL,
        descriptor text NOT NULL,
        country text NOT NULL,
        company_number text,
        iban text,
        acquirer text,
        claim jsonb NOT NULL,
        pricing jsonb NOT NULL,
        tds_mode text NOT NULL DEFAULT 'attempt',
        created timestamptz(3) NOT NULL,
        CONSTRAINT ${names.local('merchants_pk')} PRIMARY KEY (id),
        CONSTRAINT ${names.local('merchants_tag_uq')} UNIQUE (tag),
        CONSTRAINT ${names.local('merchants_key_uq')} UNIQUE (key),
        CONSTRAINT ${names.local('merchants_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$'),
        CONSTRAINT ${names.local('merchants_tag_ck')} CHECK (tag ~ '^[0-9a-f]{8}$'),
        CONSTRAINT ${names.local('merchants_currency_ck')} CHECK (currency ~ '^[A-Z]{3}$'),
        CONSTRAINT ${names.local('merchants_tds_mode_ck')} CHECK (tds_mode IN ('attempt', 'full'))
      )`.execute(db)
    await sql`
      CREATE TABLE ${names.id('id_aliases')} (
        id text COLLATE "C" NOT NULL,
        merchant_id text COLLATE "C" NOT NULL,
        CONSTRAINT ${names.local('id_aliases_pk')} PRIMARY KEY (id),
        CONSTRAINT ${names.local('id_aliases_merchant_fk')} FOREIGN KEY (merchant_id)
          REFERENCES ${names.id('merchants')} (id),
        CONSTRAINT ${names.local('id_aliases_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$')
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('id_aliases')}, ${names.id('merchants')}`.execute(db)
  },
})
