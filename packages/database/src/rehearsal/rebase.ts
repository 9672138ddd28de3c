import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { underLock } from '../migrations/migration-connection.ts'
import { inTurn } from '../migrations/migrator.ts'
import { MIGRATIONS, migratorTable } from '../migrations/migrator-tables.ts'
import { isOwn } from '../migrations/namespace.ts'
import { hasOldChain, OLD_CHAIN } from '../migrations/old-chain.ts'
import { type Catalogue, readCatalogue } from './catalogue.ts'
import { compareCatalogues, type DriftOptions, rehearse } from './drift.ts'

/** Most differing objects that a message names. */
const NAMED_MAX = 5

/**
 * Marks a database of the old chain as one of the baseline, if both make the same objects. The order of columns may differ, and
 * comments and white space in functions too: the functions of the baseline replace them.
 * @throws Error if there is no old chain, or if the objects differ
 */
export function rebase(options: DriftOptions): Promise<void> {
  const { names, sources } = options
  return underLock(options, async (db) => {
    if (!(await hasOldChain(db, names))) throw new Error('there is no old chain of migrations: nothing to rebase')
    await inTurn(db, names, (trx) => validateChecks(trx, names))
    const { differences, functions } = await compare(db, options)
    if (differences.length > 0) throw new Error(await describeDifferences(db, names, differences))
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

/** The old chain added some checks without validating the rows. The checks of the baseline hold for all rows. */
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

/** The objects that differ, and the functions that the baseline writes in another way. */
async function compare(db: Kysely<unknown>, options: DriftOptions) {
  const trx = await db.startTransaction().execute()
  try {
    const [made, found] = [await rehearse(trx, options), await readCatalogue(trx, options.names)]
    const rewritten = [...made].filter(([object, text]) => object.startsWith('function ') && found.get(object) !== text)
    return {
      differences: compareCatalogues(plain(made), plain(found)).map(({ object }) => object),
      functions: rewritten.map(([, text]) => text),
    }
  } finally {
    await trx.rollback().execute()
  }
}

async function describeDifferences(db: Kysely<unknown>, { schema, jobSchema }: Names, objects: readonly string[]) {
  const { rows } = await sql<{ name: string }>`
    SELECT nspname AS name FROM pg_namespace WHERE nspname IN (${schema}, ${jobSchema}) ORDER BY nspname`.execute(db)
  const some = objects.slice(0, NAMED_MAX).join(', ')
  const named = objects.length > NAMED_MAX ? `${some} and ${objects.length - NAMED_MAX} more` : some
  const schemas = rows.map(({ name }) => name).join(', ')
  return `not as the baseline makes them: ${named}; put them right, or, if the data may go, drop schema ${schemas} cascade and run migrate up`
}

/** The catalogue without the tables of the old chain, and without comments and white space in functions. */
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
