import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { installFunctions, type ServiceFunctions } from '../migrations/functions.ts'
import { underLock } from '../migrations/migration-connection.ts'
import { inTurn } from '../migrations/migrator.ts'
import { MIGRATIONS, migratorTable } from '../migrations/migrator-tables.ts'
import { isOwn } from '../migrations/namespace.ts'
import { hasOldChain, OLD_CHAIN, oldFunctions, oldTypes } from '../migrations/old-chain.ts'
import { type Catalogue, readCatalogue, readCompositeTypes } from './catalogue.ts'
import { compareCatalogues, type Difference, type DriftOptions, rehearse } from './drift.ts'
import { rehearsalNames, translate } from './rehearsal.ts'

/** Most differing objects that a message names. */
const NAMED_MAX = 5

/** What the migrations of the baseline make. */
interface Baseline {
  readonly catalogue: Catalogue
  /** The statements that create its composite types, by name. */
  readonly types: ReadonlyMap<string, string>
}

/**
 * Marks a database of the old chain as one of the baseline, if the tables and the functions that they call are the same. The order
 * of columns may differ, and so may comments and the white space of functions. Other functions and composite types hold no data:
 * those of the release replace them. `migrate up` grants the rights.
 * @throws Error if there is no old chain, or if the objects differ. Nothing changes then
 */
export function rebase(options: DriftOptions): Promise<void> {
  const { names, functions } = options
  return underLock(options, async (db) => {
    if (!(await hasOldChain(db, names))) throw new Error('there is no old chain of migrations: nothing to rebase')
    const baseline = await rehearseBaseline(db, options)
    await inTurn(db, names, async (trx) => {
      await markAsBaseline(trx, options)
      await validateChecks(trx, names)
      await dropFunctions(trx, names, functions)
      await replaceTypes(trx, names, baseline)
      await adoptObjects(trx, names, baseline)
      if (functions) await installFunctions(trx, names, { functions, which: 'all' })
    })
  })
}

async function rehearseBaseline(db: Kysely<unknown>, { names, sources }: DriftOptions): Promise<Baseline> {
  const trx = await db.startTransaction().execute()
  try {
    const catalogue = await rehearse(trx, { names, sources })
    const stage = rehearsalNames(names)
    const types = [...(await readCompositeTypes(trx, stage))]
    return { catalogue, types: new Map(types.map(([name, text]) => [name, translate(text, stage, names)])) }
  } finally {
    await trx.rollback().execute()
  }
}

async function markAsBaseline(trx: Kysely<unknown>, { names, sources }: DriftOptions): Promise<void> {
  const table = sql.id(names.schema, migratorTable(names, MIGRATIONS))
  await rename(trx, names, '')
  await rename(trx, names, '_lock')
  await sql`DELETE FROM ${table}`.execute(trx)
  await sql`
    INSERT INTO ${table} (name, timestamp)
    SELECT name, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM unnest(${Object.keys(sources)}::text[]) AS own (name)`.execute(
    trx,
  )
}

async function rename(trx: Kysely<unknown>, names: Names, end: '' | '_lock'): Promise<void> {
  await sql`
    ALTER TABLE ${sql.id(names.schema, names.prefix + OLD_CHAIN + end)}
    RENAME TO ${sql.id(migratorTable(names, `${MIGRATIONS}${end}`))}`.execute(trx)
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

/** Drops the functions that have files, and those of the old chain alone. Functions of the operator and of neighbours stay. */
async function dropFunctions(trx: Kysely<unknown>, names: Names, functions?: ServiceFunctions): Promise<void> {
  const files = (await functions?.files()) ?? []
  const dropped = [...oldFunctions, ...files.map(({ name }) => name)].map((name) => names.prefix + name)
  const { rows } = await sql<{ signature: string }>`
    SELECT oid::regprocedure::text AS signature FROM pg_proc
    WHERE pronamespace = ${names.schema}::regnamespace AND proname = ANY (${dropped}::text[])
      AND ${isOwn(sql.ref('proname'), names)}`.execute(trx)
  for (const { signature } of rows) await sql`DROP FUNCTION ${sql.raw(signature)}`.execute(trx)
}

/** Drops the composite types that differ and those of the old chain alone, then creates what is missing. */
async function replaceTypes(trx: Kysely<unknown>, names: Names, { types }: Baseline): Promise<void> {
  const found = await readCompositeTypes(trx, names)
  const replaceable = new Set([...oldTypes.map((name) => names.prefix + name), ...types.keys()])
  const dropped = [...found].filter(([name, text]) => replaceable.has(name) && types.get(name) !== text)
  const created = [...types].filter(([name, text]) => found.get(name) !== text)
  // A type is dropped before those that it uses.
  for (const [name] of dropped.reverse()) await sql`DROP TYPE ${sql.id(names.schema, name)}`.execute(trx)
  for (const [, text] of created) await sql.raw(text).execute(trx)
}

/**
 * Gives columns the comments of the baseline, and the functions that tables call their texts there.
 * @throws Error if the database differs in anything else
 */
async function adoptObjects(trx: Kysely<unknown>, names: Names, { catalogue }: Baseline): Promise<void> {
  const found = await readCatalogue(trx, names)
  const differences = compareCatalogues(withoutRightsAndComments(catalogue), withoutRightsAndComments(found))
  if (differences.length > 0) throw new Error(await describeDifferences(trx, names, differences))
  for (const { object, made } of compareCatalogues(catalogue, found)) {
    if (made && isFunction(object)) await sql.raw(made).execute(trx)
    const [table, column] = commentedColumn(object)
    if (table && column) {
      await sql`COMMENT ON COLUMN ${sql.id(names.schema, table, column)} IS ${sql.lit(made ?? null)}`.execute(trx)
    }
  }
  // Functions of the release are validated with the search path that they are installed with.
  await sql`SET LOCAL search_path TO DEFAULT`.execute(trx)
}

/** The catalogue without rights, without comments on columns, and without comments and white space in functions. */
function withoutRightsAndComments(catalogue: Catalogue): Catalogue {
  const objects = [...catalogue].filter(
    ([object]) => !object.startsWith('right ') && commentedColumn(object).length === 0,
  )
  return new Map(objects.map(([object, text]) => [object, isFunction(object) ? withoutComments(text) : text]))
}

function isFunction(object: string): boolean {
  return object.startsWith('function ')
}

function withoutComments(text: string): string {
  return text.replaceAll(/--.*/g, '').replaceAll(/\s+/g, '')
}

/** Table and column of `comment users.email`. Empty for any other object. */
function commentedColumn(object: string): readonly string[] {
  return /^comment (\w+)\.(\w+)$/.exec(object)?.slice(1) ?? []
}

async function describeDifferences(
  trx: Kysely<unknown>,
  { schema, jobSchema }: Names,
  differences: readonly Difference[],
): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    SELECT nspname AS name FROM pg_namespace WHERE nspname IN (${schema}, ${jobSchema}) ORDER BY nspname`.execute(trx)
  const objects = differences.map(({ object }) => object)
  const some = objects.slice(0, NAMED_MAX).join(', ')
  const named = objects.length > NAMED_MAX ? `${some} and ${objects.length - NAMED_MAX} more` : some
  const schemas = rows.map(({ name }) => name).join(', ')
  return `not as the baseline makes them: ${named}; put them right, or, if the data may go, drop schema ${schemas} cascade and run migrate up`
}
