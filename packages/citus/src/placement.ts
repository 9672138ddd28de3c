import { isOwn } from '@trestle/database/names.ts'
import { type FunctionFiles, type FunctionPlace, placeOf } from '@trestle/migrations/functions.ts'
import type { MigrationSources, Names, TableClass } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { findCitus, literal, qualified, runOnWorkers } from './citus.ts'
import { listNotes, type NotedObject } from './notes.ts'

interface PlacedTable {
  readonly name: string
  /**
   * `h` is a table divided by the hash of a column. `n` is a table with a copy on every server. `s` is a table only on the
   * coordinator. `undefined` means that Citus does not manage the table.
   */
  readonly method: string | undefined
  /** The column that divides the table. */
  readonly column: string | undefined
  /** Tables with the same number are divided in the same way. */
  readonly colocation: number | undefined
  /** Whether the table itself contains rows. Those of a distributed table are in its shards, so own rows are old. */
  readonly hasOwnRows: boolean
}

interface PlacedFunction {
  readonly name: string
  /** For example, `"payments"."new_id"(text)`. */
  readonly signature: string
  readonly isKnown: boolean
  /** Whether PUBLIC may not call the function. */
  readonly isClosed: boolean
  /** The argument that decides which server runs a call. If it is `undefined`, the function runs where it is called. */
  readonly argument: string | undefined
  readonly colocation: number | undefined
}

/** Returns the tables of the service as Citus manages them, by name without prefix. */
export async function listPlacedTables(
  db: QueryExecutorProvider,
  names: Names,
): Promise<ReadonlyMap<string, PlacedTable>> {
  const known =
    (await findCitus(db)) === undefined
      ? sql`SELECT NULL::oid AS id, NULL::text AS method, NULL::text AS "column", NULL::int AS colocation`
      : sql`SELECT logicalrelid::oid AS id,
          -- Both have the method n. Those on one server are not replicated by a commit on all servers (t).
          CASE WHEN partmethod = 'n' AND repmodel <> 't' THEN 's' ELSE partmethod::text END AS method,
          column_to_column_name(logicalrelid, partkey) AS "column", colocationid AS colocation
        FROM pg_dist_partition WHERE NOT autoconverted`
  const { rows } = await sql<{ [Key in keyof PlacedTable]: Exclude<PlacedTable[Key], undefined> | null }>`
    SELECT substr(c.relname, ${names.prefix.length + 1}::int) AS name, k.method, k."column", k.colocation,
      pg_relation_size(c.oid) > 0 AS "hasOwnRows"
    FROM pg_class c LEFT JOIN (${known}) k ON k.id = c.oid
    WHERE c.relnamespace = to_regnamespace(${names.schema}) AND c.relkind = 'r' AND ${isOwn(sql.ref('c.relname'), names)}
    ORDER BY c.relname`.execute(db)
  return new Map(
    rows.map(({ name, method, column, colocation, hasOwnRows }) => [
      name ?? '',
      {
        name: name ?? '',
        method: method ?? undefined,
        column: column ?? undefined,
        colocation: colocation ?? undefined,
        hasOwnRows: hasOwnRows ?? false,
      },
    ]),
  )
}

export function isPlaced(
  placed: ReadonlyMap<string, PlacedTable>,
  { tables, column, anchor }: DistributionTarget,
  name: string,
): boolean {
  const table = placed.get(name)
  const kind = tables.get(name)
  if (kind === 'reference') return table?.method === 'n'
  if (kind === 'claim') return table?.method === 's'
  if (kind === 'owned') {
    const isDivided = table?.method === 'h' && table.column === column
    return isDivided && table.colocation === placed.get(anchor)?.colocation
  }
  return table?.method === undefined
}

/** Returns the statement that places a table. The foreign keys of the table must be dropped before. */
export function placeStatement(names: Names, { tables, column, anchor }: DistributionTarget, name: string): string {
  const table = literal(qualified(names, name))
  const kind = tables.get(name)
  if (kind === 'reference') return `SELECT create_reference_table(${table})`
  if (kind === 'claim') return `SELECT citus_add_local_table_to_metadata(${table})`
  const group = name === anchor ? 'none' : qualified(names, anchor)
  return `SELECT create_distributed_table(${table}, ${literal(column)}, colocate_with => ${literal(group)})`
}

/** Returns the statements that place the functions that are not in their target place. The tables must be placed before. */
export async function listFunctionStatements(
  db: QueryExecutorProvider,
  names: Names,
  { functions, anchor }: DistributionTarget,
): Promise<readonly string[]> {
  const colocation = (await listPlacedTables(db, names)).get(anchor)?.colocation
  const statements: string[] = []
  const placed = await listPlacedFunctions(db, names)
  for (const { name, signature, isKnown, argument, colocation: own } of placed) {
    const place = functions.get(name)
    if (place === undefined) continue
    const wanted = place.startsWith('p_') ? place : undefined
    const isDone = argument === wanted && (wanted === undefined || own === colocation)
    if (isDone && (isKnown || place === 'coordinator')) continue
    const by = wanted === undefined ? '' : `, ${literal(wanted)}, colocate_with => ${literal(qualified(names, anchor))}`
    statements.push(`SELECT create_distributed_function(${literal(signature)}${by})`)
  }
  if (statements.length === 0) return []
  // Citus copies only grants to the servers, and PUBLIC may call every new function there. A server checks the rights of a
  // delegated call, so revoke them.
  const closed = placed.filter(({ isClosed }) => isClosed).map(({ signature }) => signature)
  return [...UNCHECKED, ...statements, ...(closed.length > 0 ? [closeStatement(closed)] : [])]
}

/** Returns statements that revoke PUBLIC's right to call functions on servers, if the coordinator has revoked it. */
export async function listCloseStatements(db: QueryExecutorProvider, names: Names): Promise<readonly string[]> {
  const open = new Set((await listOpenFunctions(db, names)).flatMap(({ signatures }) => signatures))
  return open.size === 0 ? [] : [closeStatement([...open].sort())]
}

/**
 * Lists functions that PUBLIC may call on a server but not on the coordinator. This happens on a server that was added to the
 * cluster.
 * @returns the signatures of such functions by server; empty without Citus
 * @throws Error with the message of a server that refuses the query
 */
export async function listOpenFunctions(
  db: QueryExecutorProvider,
  names: Names,
): Promise<readonly { readonly node: string; readonly signatures: readonly string[] }[]> {
  if ((await findCitus(db)) === undefined) return []
  const closed = (await listPlacedFunctions(db, names)).filter(({ isKnown, isClosed }) => isKnown && isClosed)
  if (closed.length === 0) return []
  const signatures = closed.map(({ signature }) => literal(signature)).join(', ')
  const answers = await runOnWorkers(
    db,
    `SELECT string_agg(s, ';') FROM unnest(ARRAY[${signatures}]) s JOIN pg_proc f ON f.oid = to_regprocedure(s)
     WHERE NOT (${IS_CLOSED})`,
  )
  const found = answers.map(({ node, text }) => ({ node, signatures: text.split(';').filter((name) => name !== '') }))
  return found.filter(({ signatures }) => signatures.length > 0)
}

function closeStatement(signatures: readonly string[]): string {
  return `REVOKE EXECUTE ON FUNCTION ${signatures.join(', ')} FROM PUBLIC`
}

/** An SQL condition: PUBLIC may not call the function `f`. */
const IS_CLOSED = `f.proacl IS NOT NULL AND NOT EXISTS (SELECT FROM aclexplode(f.proacl) WHERE grantee = 0)`

/** Skips the check of function bodies, because a callee may not exist yet. The migrator has checked them already. */
const UNCHECKED = ["SET LOCAL citus.propagate_set_commands = 'local'", 'SET LOCAL check_function_bodies = off']

/**
 * Returns the statements that let PostgreSQL plan the queries of functions with the actual values. These values decide which
 * server has the rows. For a generic plan, Citus fails with "could not create distributed plan".
 */
export async function listPlanStatements(db: QueryExecutorProvider, names: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ signature: string }>`
    SELECT format('%I.%I(%s)', ${names.schema}::text, f.proname, pg_get_function_identity_arguments(f.oid)) AS signature
    FROM pg_proc f
    WHERE f.pronamespace = to_regnamespace(${names.schema}) AND ${isOwn(sql.ref('f.proname'), names)}
      AND 'plan_cache_mode=force_generic_plan' = ANY (f.proconfig)
    ORDER BY 1`.execute(db)
  return rows.map(({ signature }) => `ALTER FUNCTION ${signature} SET plan_cache_mode = auto`)
}

/**
 * Returns the statements that create the types of the service on every server. Citus creates the types of a function's arguments,
 * but not those in its body. So the statements distribute a function that takes all types, and then drop it.
 */
export async function listTypeStatements(db: QueryExecutorProvider, names: Names): Promise<readonly string[]> {
  const known =
    (await findCitus(db)) === undefined
      ? sql`false`
      : sql`EXISTS (SELECT FROM pg_catalog.pg_dist_object o WHERE o.classid = 'pg_type'::regclass AND o.objid = t.oid)`
  const { rows } = await sql<{ name: string }>`
    SELECT format('%I.%I', ${names.schema}::text, t.typname) AS name
    FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
    WHERE t.typnamespace = to_regnamespace(${names.schema}) AND ${isOwn(sql.ref('t.typname'), names)}
      AND (t.typtype IN ('d', 'e') OR c.relkind = 'c') AND NOT ${known}
    ORDER BY t.oid`.execute(db)
  if (rows.length === 0) return []
  const taker = `${qualified(names, 'trestle_distribution')}(${rows.map(({ name }) => name).join(', ')})`
  return [
    `CREATE FUNCTION ${taker} RETURNS void LANGUAGE sql AS ''`,
    `SELECT create_distributed_function(${literal(taker)})`,
    `DROP FUNCTION ${taker}`,
  ]
}

async function listPlacedFunctions(db: QueryExecutorProvider, names: Names): Promise<readonly PlacedFunction[]> {
  const known =
    (await findCitus(db)) === undefined
      ? sql`SELECT NULL::oid AS objid, NULL::int AS argument, NULL::int AS colocation WHERE false`
      : sql`SELECT objid, distribution_argument_index AS argument, colocationid AS colocation
        FROM pg_catalog.pg_dist_object WHERE classid = 'pg_proc'::regclass`
  const { rows } = await sql<{ [Key in keyof PlacedFunction]: Exclude<PlacedFunction[Key], undefined> | null }>`
    SELECT substr(f.proname, ${names.prefix.length + 1}::int) AS name, k.objid IS NOT NULL AS "isKnown",
      ${sql.raw(IS_CLOSED)} AS "isClosed",
      format('%I.%I(%s)', ${names.schema}::text, f.proname,
        (SELECT string_agg(format_type(type, NULL), ', ' ORDER BY nth)
         FROM unnest(f.proargtypes) WITH ORDINALITY t (type, nth))) AS signature,
      f.proargnames[k.argument + 1] AS argument, k.colocation
    FROM pg_proc f LEFT JOIN (${known}) k ON k.objid = f.oid
    WHERE f.pronamespace = to_regnamespace(${names.schema}) AND f.prokind = 'f' AND ${isOwn(sql.ref('f.proname'), names)}
    ORDER BY f.proname, f.oid`.execute(db)
  return rows.map(({ name, signature, isKnown, isClosed, argument, colocation }) => ({
    name: name ?? '',
    signature: signature ?? '',
    isKnown: isKnown ?? false,
    isClosed: isClosed ?? false,
    argument: argument ?? undefined,
    colocation: colocation ?? undefined,
  }))
}

interface ForeignKey extends NotedObject {
  readonly table: string
  readonly drop: string
}

/** Lists the foreign keys of the service's tables, without their copies on shards. */
export async function listForeignKeys(db: QueryExecutorProvider, names: Names): Promise<readonly ForeignKey[]> {
  const { rows } = await sql<{ table: string; name: string; definition: string }>`
    SELECT substr(c.relname, ${names.prefix.length + 1}::int) AS "table", f.conname AS name,
      pg_get_constraintdef(f.oid) AS definition
    FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
    WHERE f.contype = 'f' AND c.relnamespace = ${names.schema}::regnamespace AND ${isOwn(sql.ref('c.relname'), names)}
    ORDER BY c.relname, f.conname`.execute(db)
  return rows.map(({ table, name, definition }) => ({
    table,
    object: `foreign key ${table}.${name}`,
    statement: `ALTER TABLE ${qualified(names, table)} ADD CONSTRAINT "${name}" ${definition}`,
    drop: `ALTER TABLE ${qualified(names, table)} DROP CONSTRAINT "${name}"`,
  }))
}

/** Lists the noted foreign keys that do not exist. */
export async function listMissingKeys(db: QueryExecutorProvider, names: Names): Promise<readonly NotedObject[]> {
  const present = new Set((await listForeignKeys(db, names)).map(({ object }) => object))
  return (await listNotes(db, names, 'foreign key')).filter(({ object }) => !present.has(object))
}

/**
 * The class of each table and the place of each function, as the migrations and the function files define them. Names have no
 * prefix.
 */
export interface DistributionTarget {
  /** The class of each table, in the order in which migrations create them. */
  readonly tables: ReadonlyMap<string, TableClass>
  /** The column that divides the rows among the servers. */
  readonly column: string
  /** The first table of the class `owned`. All other tables of this class are divided in the same way. */
  readonly anchor: string
  readonly functions: ReadonlyMap<string, FunctionPlace>
}

/**
 * Reads the target of a release from its migrations and function files.
 * @throws Error if the file of a function does not say where the function runs, or if no table is divided
 */
export async function readTarget(
  names: Names,
  {
    sources,
    files,
    column,
  }: { readonly sources: MigrationSources; readonly files: FunctionFiles; readonly column: string },
): Promise<DistributionTarget> {
  const tables = new Map<string, TableClass>()
  for (const source of Object.values(sources)) {
    for (const [name, kind] of Object.entries((await source(names)).tables ?? {})) tables.set(name, kind)
  }
  const [anchor] = tablesOf(tables, 'owned')
  if (anchor === undefined) throw new Error('no table has the class owned: this database cannot be distributed')
  return { tables, column, anchor, functions: new Map((await files()).map((file) => [file.name, placeOf(file)])) }
}

/** Returns the tables of a class, in the order of their creation. */
export function tablesOf(tables: DistributionTarget['tables'], kind: TableClass): readonly string[] {
  return [...tables].filter(([, own]) => own === kind).map(([name]) => name)
}
