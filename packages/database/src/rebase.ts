import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { type Catalogue, readCatalogue } from './catalogue.ts'
import { compareCatalogues, type DriftOptions, rehearse } from './drift.ts'
import { underLock } from './migration-connection.ts'
import { inTurn } from './migrator.ts'
import { MIGRATIONS, migratorTable } from './migrator-tables.ts'
import { isOwn } from './namespace.ts'

/** The table of the chain that the baseline replaces. One of supabase/auth has the same name and another column. */
const OLD_CHAIN = 'schema_migrations'

/**
 * Marks a database of the old chain as one of the baseline, where both make the same objects. The order of columns may differ,
 * and so may comments and white space in functions: those of the baseline replace them.
 * @throws Error if there is no old chain, or the objects differ
 */
export function rebase(options: DriftOptions): Promise<void> {
  const { names, sources } = options
  return underLock(options, async (db) => {
    if (!(await hasOldChain(db, names))) throw new Error('there is no old chain of migrations: nothing to rebase')
    await inTurn(db, names, (trx) => validateChecks(trx, names))
    const { differences, functions } = await compare(db, options)
    if (differences > 0) {
      throw new Error(
        `${differences} objects are not as the baseline makes them: drop the schemas ${names.schema} and ${names.jobSchema}, then run migrate up`,
      )
    }
    await inTurn(db, names, async (trx) => {
      const table = sql.id(names.schema, migratorTable(names, MIGRATIONS))
      for (const text of functions) await sql.raw(text).execute(trx)
      await rename(trx, names, '')
      await rename(trx, names, '_lock')
      await sql`DELETE FROM ${table}`.execute(trx)
      await sql`
        INSERT INTO ${table} (name, timestamp)
        SELECT name, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM unnest(${Object.keys(sources)}::text[]) AS own (name)`.execute(
        trx,
      )
    })
  })
}

/** @throws Error if the database is one of the old chain */
export async function refuseOldChain(db: Kysely<unknown>, names: Names): Promise<void> {
  if (await hasOldChain(db, names)) {
    throw new Error('the migrations of this database were replaced by a baseline: run migrate rebase')
  }
}

async function hasOldChain(db: Kysely<unknown>, { schema, prefix }: Names): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM information_schema.columns
    WHERE table_schema = ${schema} AND table_name = ${prefix + OLD_CHAIN} AND column_name = 'timestamp'`.execute(db)
  return rows.length > 0
}

/** The old chain added checks without a look at the rows that were there. The baseline's hold for all rows. */
async function validateChecks(trx: Kysely<unknown>, names: Names): Promise<void> {
  const { rows } = await sql<{ table: string; name: string }>`
    SELECT conrelid::regclass::text AS "table", conname AS name FROM pg_constraint
    WHERE connamespace = ${names.schema}::regnamespace AND NOT convalidated AND ${isOwn(sql.ref('conname'), names)}`.execute(
    trx,
  )
  for (const { table, name } of rows) {
    await sql`ALTER TABLE ${sql.raw(table)} VALIDATE CONSTRAINT ${sql.id(name)}`.execute(trx)
  }
}

/** How many objects differ, and the functions of the baseline that are written in another way. */
async function compare(db: Kysely<unknown>, options: DriftOptions) {
  const trx = await db.startTransaction().execute()
  try {
    const [made, found] = [await rehearse(trx, options), await readCatalogue(trx, options.names)]
    const rewritten = [...made].filter(([object, text]) => object.startsWith('function ') && found.get(object) !== text)
    return {
      differences: compareCatalogues(plain(made), plain(found)).length,
      functions: rewritten.map(([, text]) => text),
    }
  } finally {
    await trx.rollback().execute()
  }
}

/** Without the tables of the old chain, and without what does not matter in functions. */
function plain(catalogue: Catalogue): Catalogue {
  const objects = [...catalogue].filter(([object]) => !object.includes(OLD_CHAIN))
  return new Map(
    objects.map(([object, text]) => [object, object.startsWith('function ') ? withoutComments(text) : text]),
  )
}

function withoutComments(text: string): string {
  return text.replaceAll(/--.*/g, '').replaceAll(/\s+/g, '')
}

async function rename(trx: Kysely<unknown>, names: Names, end: '' | '_lock'): Promise<void> {
  await sql`
    ALTER TABLE ${sql.id(names.schema, names.prefix + OLD_CHAIN + end)}
    RENAME TO ${sql.id(migratorTable(names, `${MIGRATIONS}${end}`))}`.execute(trx)
}
