// Most rows belong to a merchant. The last eight digits of each of their ids are the merchant's tag, so that one query finds the
// merchant of any id.
//
// - `key`: the public key, with which the checkout names the merchant. It authenticates nobody.
// - `holder`: the owner of the account `iban`. NULL: the company of `name`.
// - `acquirer`: the company that moves the merchant's money. NULL: none, so a live merchant cannot be paid.
// - `claim`: the permissions, as booleans such as `canCapture`. An absent one would be neither allowed nor refused.
// - `pricing`: `rate` in basis points, and amounts of money by fee name. Operators write both by a function with free arguments,
//   so the table refuses a fee that would pay the merchant, and text instead of a number.
// - `tds_mode`: the allowed outcomes of 3-D Secure. `attempt`: all except a rejection; `full`: only authentication.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createMerchants: MigrationSource = (names) => ({
  tables: { merchants: 'reference', id_aliases: 'reference' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('merchants')} (
        id text COLLATE "C" NOT NULL,
        tag text COLLATE "C" NOT NULL,
        key uuid NOT NULL,
        created timestamptz(3) NOT NULL,
        name text,
        currency text NOT NULL,
        test boolean NOT NULL,
        email text NOT NULL,
        website text NOT NULL,
        descriptor text NOT NULL,
        country text NOT NULL,
        company_number text,
        iban text,
        holder text,
        acquirer text,
        claim jsonb NOT NULL,
        pricing jsonb NOT NULL,
        tds_mode text NOT NULL DEFAULT 'attempt',
        CONSTRAINT ${names.local('merchants_pk')} PRIMARY KEY (id),
        CONSTRAINT ${names.local('merchants_tag_uq')} UNIQUE (tag),
        CONSTRAINT ${names.local('merchants_key_uq')} UNIQUE (key),
        CONSTRAINT ${names.local('merchants_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$'),
        CONSTRAINT ${names.local('merchants_tag_ck')} CHECK (tag ~ '^[0-9a-f]{8}$'),
        CONSTRAINT ${names.local('merchants_currency_ck')} CHECK (currency ~ '^[A-Z]{3}$'),
        CONSTRAINT ${names.local('merchants_email_ck')} CHECK (email LIKE '%_@_%'),
        CONSTRAINT ${names.local('merchants_descriptor_ck')} CHECK (descriptor COLLATE "C" ~ '^[ -~]{2,22}$'),
        CONSTRAINT ${names.local('merchants_iban_ck')} CHECK (iban COLLATE "C" ~ '^[A-Z]{2}[0-9]{2}[A-Z0-9]{4,30}$'),
        CONSTRAINT ${names.local('merchants_acquirer_ck')} CHECK (acquirer <> ''),
        CONSTRAINT ${names.local('merchants_claim_ck')} CHECK (
          jsonb_typeof(claim) = 'object'
          AND claim ?& ARRAY['canChargeCard', 'canSaveCard', 'canTransferToCard', 'canCapture', 'canRefund', 'canVoid']
          AND NOT jsonb_path_exists(claim, '$.keyvalue() ? (@.value.type() != "boolean")')
        ),
        CONSTRAINT ${names.local('merchants_pricing_ck')} CHECK (
          jsonb_typeof(pricing) = 'object' AND pricing ?& ARRAY['rate', 'flat', 'dispute']
          AND jsonb_typeof(pricing -> 'rate') = 'number'
          AND jsonb_path_exists(pricing, '$.rate ? (@ >= 0 && @ <= 10000)')
          AND NOT jsonb_path_exists(pricing, '$.keyvalue() ? (@.key != "rate" && !(
            @.value.type() == "object" && @.value.amount.type() == "number" && @.value.amount >= 0
            && @.value.amount.floor() == @.value.amount
            && @.value.currency.type() == "string" && @.value.currency like_regex "^[A-Z]{3}$"
          ))')
        ),
        CONSTRAINT ${names.local('merchants_tds_mode_ck')} CHECK (tds_mode IN ('attempt', 'full'))
      )`.execute(db)
    await createSearch(db, names)
    await createAliases(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('id_aliases')}, ${names.id('merchants')}`.execute(db)
  },
})

/**
 * Operators find merchants by the beginning of these texts, in any case. With the collation C, a beginning is a range of the
 * index. Anybody may create merchants of either mode, so a list of the other mode also has an index.
 */
async function createSearch(db: Kysely<unknown>, names: Names): Promise<void> {
  for (const column of ['name', 'email', 'website']) {
    await sql`
      CREATE INDEX ${names.local(`merchants_${column}_ix`)} ON ${names.id('merchants')} (
        (lower(left(${sql.id(column)}, 255)) COLLATE "C"), id
      )`.execute(db)
  }
  const merchants = names.id('merchants')
  await sql`CREATE INDEX ${names.local('merchants_test_ix')} ON ${merchants} (id) WHERE test`.execute(db)
  await sql`CREATE INDEX ${names.local('merchants_live_ix')} ON ${merchants} (id) WHERE NOT test`.execute(db)
}

/** The id of a seeded merchant may end with another merchant's tag. Such an id is listed here with its merchant. */
async function createAliases(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('id_aliases')} (
      id text COLLATE "C" NOT NULL,
      merchant_id text COLLATE "C" NOT NULL,
      CONSTRAINT ${names.local('id_aliases_pk')} PRIMARY KEY (id),
      CONSTRAINT ${names.local('id_aliases_merchant_fk')} FOREIGN KEY (merchant_id)
        REFERENCES ${names.id('merchants')} (id),
      CONSTRAINT ${names.local('id_aliases_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$')
    )`.execute(db)
}
