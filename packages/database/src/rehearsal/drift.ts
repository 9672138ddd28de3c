import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { compareFunctions, createAll, type ServiceFunctions } from '../migrations/functions.ts'
import { findForeign } from '../migrations/installed-functions.ts'
import { type MigrationTarget, underLock } from '../migrations/migration-connection.ts'
import { listExecuted, type Migrations } from '../migrations/migrator.ts'
import { createNames } from '../names.ts'
import { type Callers, closeFunctions, isRightOfCallers } from '../rights/function-rights.ts'
import { type Grants, grantOnObjects } from '../rights/roles.ts'
import { type Catalogue, readCatalogue } from './catalogue.ts'

/** An object that differs from the result of the migrations. */
export interface Difference {
  /** `column users.email` */
  readonly object: string
  /** The definition of the object as the migrations make it. Undefined: they make no such object. */
  readonly made: string | undefined
  /** The definition of the object in the database. Undefined: it does not exist. */
  readonly found: string | undefined
}

/** The outcome of a comparison of a database with its migrations. */
interface Drift {
  /** How many objects were compared. */
  readonly objects: number
  readonly differences: readonly Difference[]
}

/** The database to compare, and the migrations and rights that create the expected schema. */
interface DriftOptions extends MigrationTarget {
  readonly sources: MigrationSources
  readonly cluster?: Migrations['cluster']
  readonly functions?: ServiceFunctions | undefined
  readonly grants?: Grants | undefined
  readonly callers?: Callers | undefined
}

/**
 * Compares the objects of a service with those that the same migrations make in an empty schema. It runs in a transaction that
 * is rolled back: nothing remains, and no second database is needed.
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
        differences: differences.filter((difference) => !isOfNeighbour(difference) && !isIgnored(difference)),
      }
    } finally {
      await trx.rollback().execute()
    }
  })
}

/** @throws Error if another release has run a migration, or has installed the functions */
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
 * Makes the objects of the executed migrations that this release knows in an empty schema, in a transaction that is rolled back.
 * @returns their definitions, with the names of the service's own schema, and without the functions that have files
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
 * Returns the objects that migrations and functions make in an empty schema, with the names of the service's own schema.
 * @throws Error when a file creates no function of its name
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

/** The objects that differ, in the order of their names. */
export function compareCatalogues(made: Catalogue, found: Catalogue): readonly Difference[] {
  const objects = [...new Set([...made.keys(), ...found.keys()])].sort()
  return objects
    .map((object) => ({ object, made: made.get(object), found: found.get(object) }))
    .filter((difference) => difference.made !== difference.found)
}

/** Whether an object is a function without arguments, a comment on it or a right to call it. */
function isOfFunction(object: string, { schema, prefix }: Names, name: string): boolean {
  const inFull = `${schema}.${prefix}${name}()`
  return [`function ${prefix}${name}()`, `comment ${inFull}`, `right ${inFull} to`].some((start) =>
    object.startsWith(start),
  )
}

/** Several namespaces may share a schema, which the role of each of them may use. */
function isOfNeighbour({ object, made, found }: Difference): boolean {
  return object.startsWith('right the schema ') && made === undefined && found === 'USAGE'
}

/** A schema beside that of the service, in which migrations are tried out. */
export function rehearsalNames({ schema, prefix }: Names): Names {
  return createNames(`${prefix}${schema}_rehearsal`, prefix)
}

/** Replaces the name of the rehearsal's schema in a text by the name of the service's schema. */
export function translate(text: string, stage: Names, names: Names): string {
  return text.replaceAll(stage.schema, names.schema)
}

/**
 * The migrations that have run in a database, in the order of their run.
 * @throws Error if another release has run one
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

/** Makes the schema, with the empty tables of the migrations. */
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

/** Drops the schema, even if a killed process left it behind. */
export async function dropStage(db: Kysely<unknown>, stage: Names): Promise<void> {
  await sql`DROP SCHEMA IF EXISTS ${sql.id(stage.schema)} CASCADE`.execute(db)
}
