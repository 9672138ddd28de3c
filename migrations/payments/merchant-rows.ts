import { type RawBuilder, sql } from 'kysely'
import type { Names } from '../migration.ts'

// Most tables contain rows of a merchant and begin with these columns. They must not change, because merged migrations never do.

export function merchantRow(names: Names, table: string): RawBuilder<unknown> {
  return sql`
        merchant_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        created timestamptz(3) NOT NULL,
        CONSTRAINT ${names.local(`${table}_pk`)} PRIMARY KEY (merchant_id, id),
        CONSTRAINT ${names.local(`${table}_id_ck`)} CHECK (id ~ '^[0-9a-f]{24}$')`
}

/** A foreign key to a row of the same merchant. */
export function merchantReference(names: Names, from: string, to: string): RawBuilder<unknown> {
  const noun = to.replace(/s$/, '')
  return sql`
        CONSTRAINT ${names.local(`${from}_${noun}_fk`)} FOREIGN KEY (merchant_id, ${sql.id(`${noun}_id`)})
          REFERENCES ${names.id(to)} (merchant_id, id)`
}
