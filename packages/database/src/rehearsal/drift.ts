import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { compareFunctions, createAll, type ServiceFunctions } from '../migrations/functions.ts'
import { findForeign } from '../migrations/installed-functions.ts'
import { type MigrationTarget, underLock } from '../migrations/migration-connection.ts'
import { listExecuted, type Migrations } from '../migrations/migrator.ts'
import { createNames, isOfExtension, isOwn, migratorTable, migratorTables } from '../names.ts'
import { type Callers, closeFunctions, isRightOfCallers } from '../rights/function-rights.ts'
import { type Grants, grantOnObjects } from '../rights/roles.ts'

/** An object that differs from the result of the migrations. */
export interface Difference {
  /** The kind and name of the object, such as `column users.email`. */
  readonly object: string
  /** The definition of the object as the migrations create it. `undefined` if they do not create it. */
  readonly made: string | undefined
  /** The definition of the object in the database. `undefined` if it does not exist. */
  readonly found: string | undefined
}

interface Drift {
  /** The number of compared objects. */
  readonly objects: number
  readonly differences: readonly Difference[]
}

interface DriftOptions extends MigrationTarget {
  readonly sources: MigrationSources
  readonly cluster?: Migrations['cluster']
  readonly functions?: ServiceFunctions | undefined
  readonly grants?: Grants | undefined
  readonly callers?: Callers | undefined
}

/**
 * Compares the objects of a service with those that the same migrations create in an empty schema. Runs in a transaction that is
 * rolled back, so nothing remains and no second database is needed.
 * @throws Error if another release has run a migration or installed the functions, or if the server is a worker of a cluster
 */
export function findDrift({ names, url, callers, ...rest }: DriftOptions): Promise<Drift> {
  return underLock({ url, names }, async (db) => {
    await rest.cluster?.expectCoordinator(db)
    const trx = await db.startTransaction().execute()
    try {
      const made = await rehearse(trx, { names, ...rest, ...(await findExecutedRelease(trx, { names, ...rest })) })
      const differences = compareCatalogues(made, await readCatalogue(trx, names))
      const foreign = rest.functions ? [...(await findForeign(trx, names, rest.functions))] : []
      const isIgnored = ({ object }: Difference) =>
        (callers !== undefined && isRightOfCallers(object, names, callers)) ||
        foreign.some((name) => isOfFunction(object, names, name))
      return {
        objects: made.size,
        differences: differences.filter((difference) => !isOfApplication(difference) && !isIgnored(difference)),
      }
    } finally {
      await trx.rollback().execute()
    }
  })
}

/** @throws Error if another release has run a migration or has installed the functions */
async function findExecutedRelease(
  trx: Kysely<unknown>,
  { names, sources, functions }: Omit<DriftOptions, 'url'>,
): Promise<Pick<DriftOptions, 'sources' | 'functions'>> {
  const executed = await findExecutedSources(trx, { names, sources })
  if (!functions) return { sources: executed }
  const { installed } = await compareFunctions(trx, names, functions)
  if (installed === undefined) return { sources: executed, functions: undefined }
  if (installed === functions.release) return { sources: executed, functions }
  throw new Error(`the database has the functions of release ${installed}: use that release`)
}

/**
 * Creates the objects of the executed migrations that this release knows, in an empty schema and in a transaction that is rolled
 * back.
 * @returns their definitions, with the names of the service's own schema, without the functions that have files
 */
export async function rehearseExecuted(
  db: Kysely<unknown>,
  { names, sources, cluster }: Pick<DriftOptions, 'names' | 'sources' | 'cluster'>,
): Promise<Catalogue> {
  const executed = new Set((await listExecuted(db, names)).map(({ name }) => name))
  const known = Object.fromEntries(Object.entries(sources).filter(([name]) => executed.has(name)))
  const trx = await db.startTransaction().execute()
  try {
    return await rehearse(trx, { names, sources: known, cluster })
  } finally {
    await trx.rollback().execute()
  }
}

/**
 * Returns the objects that migrations and functions create in an empty schema, with the names of the service's own schema.
 * @throws Error if a file does not create the function of its name
 */
async function rehearse(
  trx: Kysely<unknown>,
  { names, sources, cluster, functions, grants }: Omit<DriftOptions, 'url'>,
): Promise<Catalogue> {
  const stage = rehearsalNames(names)
  await buildStage(trx, stage, { sources, cluster })
  if (functions) await createAll(trx, stage, { files: await functions.files(), isReleased: false, isOwn: () => false })
  await cluster?.rehearseFunctions(trx, names, stage)
  if (functions?.invoker) await closeFunctions(trx, stage, functions.invoker)
  if (grants) await grantOnObjects(trx, { names: stage, invoker: functions?.invoker, ...grants })
  return translateCatalogue(await readCatalogue(trx, stage), stage, names)
}

function translateCatalogue(catalogue: Catalogue, stage: Names, names: Names): Catalogue {
  return new Map([...catalogue].map(([key, text]) => [translate(key, stage, names), translate(text, stage, names)]))
}

/** Returns the objects that differ, sorted by name. */
export function compareCatalogues(made: Catalogue, found: Catalogue): readonly Difference[] {
  const objects = [...new Set([...made.keys(), ...found.keys()])].sort()
  return objects
    .map((object) => ({ object, made: made.get(object), found: found.get(object) }))
    .filter((difference) => difference.made !== difference.found)
}

/** Returns whether an object is a function without arguments, a comment on such a function, or a right to call it. */
function isOfFunction(object: string, { schema, prefix }: Names, name: string): boolean {
  const inFull = `${schema}.${prefix}${name}()`
  return [`function ${prefix}${name}()`, `comment ${inFull}`, `right ${inFull} to`].some((start) =>
    object.startsWith(start),
  )
}

/** Whether this is a right of another namespace's role. Several namespaces may share a schema. */
function isOfApplication({ object, made, found }: Difference): boolean {
  return object.startsWith('right the schema ') && made === undefined && found === 'USAGE'
}

/** Returns the names for a temporary schema, in which migrations are tried out. */
export function rehearsalNames({ schema, prefix }: Names): Names {
  return createNames(`${prefix}${schema}_rehearsal`, prefix)
}

/** Replaces the name of the rehearsal schema in text with the name of the service's schema. */
export function translate(text: string, stage: Names, names: Names): string {
  return text.replaceAll(stage.schema, names.schema)
}

/**
 * Returns the migrations that have run in a database, in the order of their run.
 * @throws Error if another release has run one of them
 */
export async function findExecutedSources(
  db: Kysely<unknown>,
  { names, sources }: { readonly names: Names; readonly sources: MigrationSources },
): Promise<MigrationSources> {
  const executed = (await listExecuted(db, names)).map(({ name }) => {
    const source = sources[name]
    if (!source) throw new Error(`the database has the migration ${name} of another release: use that release`)
    return [name, source] as const
  })
  return Object.fromEntries(executed)
}

export async function buildStage(
  trx: Kysely<unknown>,
  stage: Names,
  { sources, cluster }: Pick<Migrations, 'sources' | 'cluster'>,
): Promise<void> {
  await cluster?.keepOnCoordinator(trx)
  await sql`CREATE SCHEMA ${sql.id(stage.schema)}`.execute(trx)
  for (const source of Object.values(sources)) {
    const { up } = await source(stage)
    await up(trx)
  }
}

/** Drops the rehearsal schema. A killed process may have left it behind. */
export async function dropStage(db: Kysely<unknown>, stage: Names): Promise<void> {
  await sql`DROP SCHEMA IF EXISTS ${sql.id(stage.schema)} CASCADE`.execute(db)
}

/** The definitions of a service's objects by kind and name, such as `column users.email`. */
type Catalogue = ReadonlyMap<string, string>

interface CatalogueRow {
  readonly kind: string
  readonly name: string
  readonly definition: string | null
}

/**
 * Reads the definitions of a service's objects from the system catalogues, with fully qualified names. Leaves out the migrator's
 * tables, objects of extensions, and the constraints that PostgreSQL creates for NOT NULL since version 18.
 */
export async function readCatalogue(trx: Kysely<unknown>, place: Pick<Names, 'schema' | 'prefix'>): Promise<Catalogue> {
  const { schema } = place
  const own = migratorTables.map((table) => migratorTable(place, table))
  // PostgreSQL then qualifies all names, whatever the search path of the user is.
  await sql`SELECT set_config('search_path', '', true)`.execute(trx)
  const { rows } = await sql<CatalogueRow>`
    WITH place AS (
      SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = ${schema}
    ), relation AS (
      SELECT c.* FROM pg_class c JOIN place ON c.relnamespace = place.oid
      WHERE ${isOwn(sql.ref('c.relname'), place)} AND c.relkind IN ('r', 'p', 'v', 'm', 'c', 'S')
        AND c.relname <> ALL (${own}::text[]) AND NOT ${isOfExtension('pg_class', sql.ref('c.oid'))}
    ), function AS (
      SELECT p.* FROM pg_proc p JOIN place ON p.pronamespace = place.oid
      WHERE ${isOwn(sql.ref('p.proname'), place)} AND p.prokind <> 'a'
        AND NOT ${isOfExtension('pg_proc', sql.ref('p.oid'))}
    )
    ${sql.join([...PARTS, types(place)], sql` UNION ALL `)}`.execute(trx)
  return new Map(rows.map(({ kind, name, definition }) => [`${kind} ${name}`, definition ?? '']))
}

const relations = sql`
  SELECT CASE relkind WHEN 'c' THEN 'type' WHEN 'S' THEN 'sequence' ELSE 'table' END AS kind, relname::text AS name,
    concat_ws(' ', relkind, relpersistence, relrowsecurity, relforcerowsecurity, reloptions::text, pg_get_partkeydef(oid),
      pg_get_expr(relpartbound, oid), CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(oid) END,
      (SELECT concat_ws(' ', format_type(seqtypid, NULL), seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle)
       FROM pg_sequence WHERE seqrelid = oid)) AS definition
  FROM relation`

const columns = sql`
  SELECT 'column', r.relname || '.' || a.attname,
    concat_ws(' ', CASE r.relkind WHEN 'c' THEN a.attnum::text END, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attcollation <> t.typcollation THEN 'COLLATE ' || a.attcollation::regcollation::text END,
      CASE WHEN a.attnotnull THEN 'NOT NULL' END, nullif(a.attidentity, ''), nullif(a.attgenerated, ''),
      (SELECT string_agg(option, ' ' ORDER BY option) FROM unnest(a.attoptions) AS option
       WHERE starts_with(option, 'n_distinct')),
      (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = a.attrelid AND adnum = a.attnum))
  FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
  WHERE r.relkind <> 'S'`

const constraints = sql`
  SELECT 'constraint', r.relname || '.' || c.conname,
    concat_ws(' ', pg_get_constraintdef(c.oid), CASE WHEN NOT c.convalidated THEN 'NOT VALID' END)
  FROM relation r JOIN pg_constraint c ON c.conrelid = r.oid WHERE c.contype <> 'n'`

const indexes = sql`
  SELECT 'index', i.indexrelid::regclass::text,
    concat_ws(' ', pg_get_indexdef(i.indexrelid), CASE WHEN NOT i.indisvalid THEN 'INVALID' END)
  FROM relation r JOIN pg_index i ON i.indrelid = r.oid`

const functions = sql`
  SELECT 'function', proname || '(' || pg_get_function_identity_arguments(oid) || ')', pg_get_functiondef(oid)
  FROM function`

const triggers = sql`
  SELECT 'trigger', r.relname || '.' || t.tgname, pg_get_triggerdef(t.oid) || ' ' || t.tgenabled::text
  FROM relation r JOIN pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal`

const rules = sql`
  SELECT 'rule', r.relname || '.' || w.rulename, pg_get_ruledef(w.oid)
  FROM relation r JOIN pg_rewrite w ON w.ev_class = r.oid AND w.rulename <> '_RETURN'`

const policies = sql`
  SELECT 'policy', r.relname || '.' || p.polname, concat_ws(' ', p.polcmd, p.polpermissive, p.polroles::regrole[]::text,
    pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
  FROM relation r JOIN pg_policy p ON p.polrelid = r.oid`

const statistics = sql`
  SELECT 'statistics', r.relname || '.' || s.stxname, pg_get_statisticsobjdef(s.oid)
  FROM relation r JOIN pg_statistic_ext s ON s.stxrelid = r.oid`

const comments = sql`
  SELECT 'comment', concat_ws('.', r.relname, a.attname), d.description
  FROM relation r JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = r.oid
    LEFT JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum = d.objsubid AND d.objsubid > 0
  UNION ALL
  SELECT 'comment', f.oid::regprocedure::text, d.description
  FROM function f JOIN pg_description d ON d.classoid = 'pg_proc'::regclass AND d.objoid = f.oid`

/** Selects the rights of all roles except the owner, who has all rights. */
const rights = sql`
  SELECT 'right', g.name || ' to ' || coalesce(grantee.rolname, 'PUBLIC'),
    string_agg(x.privilege_type || CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END, ', ' ORDER BY x.privilege_type)
  FROM (
    SELECT relname::text AS name, relowner AS owner,
      coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner)) AS acl
    FROM relation WHERE relkind <> 'c'
    UNION ALL
    SELECT r.relname || '.' || a.attname, r.relowner, a.attacl FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid
    UNION ALL
    SELECT oid::regprocedure::text, proowner, coalesce(proacl, acldefault('f', proowner)) FROM function
    UNION ALL
    SELECT 'the schema', nspowner, coalesce(nspacl, acldefault('n', nspowner)) FROM place
  ) g CROSS JOIN aclexplode(g.acl) x LEFT JOIN pg_roles grantee ON grantee.oid = x.grantee
  WHERE x.grantee <> g.owner
  GROUP BY g.name, grantee.rolname`

const PARTS: readonly RawBuilder<unknown>[] = [
  relations,
  columns,
  constraints,
  indexes,
  functions,
  triggers,
  rules,
  policies,
  statistics,
  comments,
  rights,
]

function types(place: Pick<Names, 'schema' | 'prefix'>): RawBuilder<unknown> {
  return sql`
    SELECT 'type', t.typname::text, concat_ws(' ', t.typtype, CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod) END,
      (SELECT string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid),
      (SELECT string_agg(pg_get_constraintdef(c.oid), ' ' ORDER BY c.conname) FROM pg_constraint c WHERE c.contypid = t.oid))
    FROM pg_type t JOIN place ON t.typnamespace = place.oid
    WHERE t.typtype IN ('e', 'd') AND ${isOwn(sql.ref('t.typname'), place)}
      AND NOT ${isOfExtension('pg_type', sql.ref('t.oid'))}`
}
