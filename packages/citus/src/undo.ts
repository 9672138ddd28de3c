import { reinstallFunctions } from '@trestle/database/migrations/migrate.ts'
import { underLock, withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { isOwn, migratorTable, migratorTables } from '@trestle/database/names.ts'
import { findDrift } from '@trestle/database/rehearsal/drift.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { literal, qualified } from './citus.ts'
import {
  type DistributeOptions,
  type DistributionStep,
  NOTE_BEGIN,
  type OnStep,
  runStep,
  runSteps,
} from './distribute.ts'
import {
  expectCoordinator,
  forgettingStatement,
  listNotes,
  type NotedObject,
  notingStatement,
  readState,
  stateStatements,
} from './notes.ts'
import { listForeignKeys, listMissingKeys, listPlacedTables } from './placement.ts'
import { expectNoMoves, listEntered } from './servers.ts'

/** Lists the remaining steps until all rows are on one server again. Changes nothing. */
export function planUndo(options: DistributeOptions): Promise<readonly DistributionStep[]> {
  return withDatabase(options, async (db) => {
    await expectCoordinator(db)
    return listUndoSteps(db, options.names)
  })
}

/**
 * Brings all rows of a distributed database back to the coordinator. After a killed run, another run continues with the remaining
 * steps. The Citus extension stays installed.
 * @returns the number of steps
 * @throws Error if the server is a worker, if Citus is moving rows, if processes are connected to a worker, if a statement fails,
 * or if the resulting schema differs from the migrations. Another run continues.
 */
export async function undoDistribution(options: DistributeOptions, onStep: OnStep = () => {}): Promise<number> {
  const { names } = options
  // Check first. A difference found at the end would block all writes until it is repaired.
  if ((await withDatabase(options, (db) => readState(db, names))) === 'distributed') await expectAsMade(options)
  const count = await underLock(options, async (db) => {
    await expectCoordinator(db)
    await expectNoMoves(db)
    const steps = await listUndoSteps(db, names)
    if (steps.length > 0) await expectNoEntries(db, options)
    await runSteps(db, steps, onStep)
    return steps.length
  })
  if (count === 0) return 0
  await reinstallFunctions(options)
  await expectAsMade(options)
  await underLock(options, (db) =>
    runStep(db, {
      title: 'note the end',
      statements: [forgettingStatement(names), ...stateStatements(names, 'plain')],
    }),
  )
  return count
}

/**
 * Compares the schema with the result of the migrations. Ignores additions of other programs, such as a right of another role.
 * @throws Error if an object of the migrations is missing or different
 */
async function expectAsMade(options: DistributeOptions): Promise<void> {
  const wrong = (await findDrift(options)).differences.filter(({ made }) => made !== undefined)
  if (wrong.length === 0) return
  throw new Error(`differs from what the migrations make: ${wrong.map(({ object }) => object).join(', ')}`)
}

/** @throws Error if processes are connected to servers that will have no tables */
async function expectNoEntries(db: QueryExecutorProvider, { applicationName }: DistributeOptions): Promise<void> {
  const entered = await listEntered(db, applicationName)
  if (entered.length === 0) return
  throw new Error(
    `processes enter by ${entered.join(', ')}, which will have no tables: let them enter by the coordinator, and run distribute --undo again`,
  )
}

async function listUndoSteps(db: QueryExecutorProvider, names: Names): Promise<readonly DistributionStep[]> {
  const placed = [...(await listPlacedTables(db, names)).values()].filter(({ method }) => method !== undefined)
  const state = await readState(db, names)
  if (state === 'plain' && placed.length === 0) return []
  const held = placed.length > 0 ? await listHeld(db, names) : []
  const drops = [...(await listFunctionDrops(db, names)), ...held.flatMap(({ drop }) => drop ?? [])]
  return [
    { title: NOTE_BEGIN, statements: state === 'undoing' ? [] : stateStatements(names, 'undoing') },
    {
      title: 'drop what depends on the tables',
      statements: placed.length > 0 ? [...held.map((noted) => notingStatement(names, noted)), ...drops] : [],
    },
    ...placed.map(({ name }) => ({
      title: `bring ${name} back`,
      statements: [`SELECT undistribute_table(${literal(qualified(names, name))})`],
    })),
    { title: 'plan functions for all values again', statements: await listPlansBack(db, names) },
    ...[...held, ...(await listLost(db, names, held))].toSorted(typesFirst).map(({ object, statement }) => ({
      title: `make the ${object} again`,
      statements: [statement],
    })),
  ].filter(({ statements }) => statements.length > 0)
}

/** A property that a table loses when it is brought back, because Citus replaces the table by a new one. */
interface Held extends NotedObject {
  /** If it is `undefined`, the property is dropped with the table. */
  readonly drop?: string
}

async function listHeld(db: QueryExecutorProvider, names: Names): Promise<readonly Held[]> {
  return [
    ...(await listForeignKeys(db, names)),
    ...(await listRowTypes(db, names)),
    ...(await listComments(db, names)),
    ...(await listColumnOptions(db, names)),
  ]
}

async function listRowTypes(db: QueryExecutorProvider, names: Names): Promise<readonly Held[]> {
  const { rows } = await sql<{ name: string; definition: string }>`
    SELECT format('%I.%I', ${names.schema}::text, c.relname) AS name,
      (SELECT string_agg(format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
          CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || a.attcollation::regcollation::text ELSE '' END),
        ', ' ORDER BY a.attnum)
       FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
       WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS definition
    FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(${names.schema}) AND c.relkind = 'c' AND ${isOwn(sql.ref('c.relname'), names)}
      AND EXISTS (SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_class r ON r.oid = t.typrelid
        WHERE a.attrelid = c.oid AND r.relkind = 'r')
    ORDER BY c.oid`.execute(db)
  return rows.map(({ name, definition }) => ({
    object: `type ${name}`,
    statement: `CREATE TYPE ${name} AS (${definition})`,
    drop: `DROP TYPE ${name}`,
  }))
}

async function listComments(db: QueryExecutorProvider, names: Names): Promise<readonly Held[]> {
  const { rows } = await sql<{ object: string; statement: string }>`
    SELECT concat_ws(' ', 'comment on', c.relname, a.attname) AS object,
      format(CASE WHEN a.attname IS NULL THEN 'COMMENT ON TABLE %I.%I IS %4$L' ELSE 'COMMENT ON COLUMN %I.%I.%I IS %L' END,
        ${names.schema}::text, c.relname, a.attname, d.description) AS statement
    FROM pg_class c JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid
      LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0
    WHERE c.relnamespace = to_regnamespace(${names.schema}) AND c.relkind = 'r' AND ${isOwn(sql.ref('c.relname'), names)}
      AND c.relname <> ALL (${migratorTables.map((table) => migratorTable(names, table))}::text[])
    ORDER BY 1`.execute(db)
  return rows
}

/** Lists the column options that tell the planner the expected number of distinct values. */
async function listColumnOptions(db: QueryExecutorProvider, names: Names): Promise<readonly Held[]> {
  const { rows } = await sql<{ object: string; statement: string }>`
    SELECT format('options of %s.%s', c.relname, a.attname) AS object,
      format('ALTER TABLE %I.%I ALTER COLUMN %I SET (%s)', ${names.schema}::text, c.relname, a.attname,
        string_agg(option, ', ' ORDER BY option)) AS statement
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid CROSS JOIN LATERAL unnest(a.attoptions) AS option
    WHERE c.relnamespace = to_regnamespace(${names.schema}) AND c.relkind = 'r' AND ${isOwn(sql.ref('c.relname'), names)}
      AND starts_with(option, 'n_distinct')
    GROUP BY c.relname, a.attname ORDER BY 1`.execute(db)
  return rows
}

/**
 * Lists the objects that an earlier run has noted and that do not exist. Comments and column options are always written again.
 */
async function listLost(
  db: QueryExecutorProvider,
  names: Names,
  held: readonly Held[],
): Promise<readonly NotedObject[]> {
  const present = new Set([...held, ...(await listRowTypes(db, names))].map(({ object }) => object))
  const noted = [
    ...(await listNotes(db, names, 'type')),
    ...(await listMissingKeys(db, names)),
    ...(await listNotes(db, names, 'comment')),
    ...(await listNotes(db, names, 'options')),
  ]
  return noted.filter(({ object }) => !present.has(object))
}

function typesFirst(one: NotedObject, other: NotedObject): number {
  return Number(other.object.startsWith('type ')) - Number(one.object.startsWith('type '))
}

/** Functions of triggers have no file, so the migrator does not install them again. */
async function listPlansBack(db: QueryExecutorProvider, names: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ signature: string }>`
    SELECT format('%I.%I(%s)', ${names.schema}::text, f.proname, pg_get_function_identity_arguments(f.oid)) AS signature
    FROM pg_proc f
    WHERE f.pronamespace = to_regnamespace(${names.schema}) AND ${isOwn(sql.ref('f.proname'), names)}
      AND 'plan_cache_mode=auto' = ANY (f.proconfig) AND f.prorettype = 'trigger'::regtype
    ORDER BY 1`.execute(db)
  return rows.map(({ signature }) => `ALTER FUNCTION ${signature} SET plan_cache_mode = force_generic_plan`)
}

/** Returns statements that drop functions with files, as they may take table rows. The migrator reinstalls them. */
async function listFunctionDrops(db: QueryExecutorProvider, names: Names): Promise<readonly string[]> {
  const installed = `"${names.schema}"."${migratorTable(names, 'trestle_functions')}"`
  const { rows } = await sql<{ signature: string }>`
    SELECT format('%I.%I(%s)', ${names.schema}::text, f.proname, pg_get_function_identity_arguments(f.oid)) AS signature
    FROM pg_proc f JOIN ${sql.raw(installed)} i ON f.proname = ${names.prefix} || i.name
    WHERE f.pronamespace = to_regnamespace(${names.schema}) ORDER BY 1`.execute(db)
  if (rows.length === 0) return []
  return [`DROP FUNCTION ${rows.map(({ signature }) => signature).join(', ')}`, `DELETE FROM ${installed}`]
}
