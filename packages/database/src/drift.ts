import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import type { Kysely } from 'kysely'
import { type Catalogue, readCatalogue } from './catalogue.ts'
import { type CallableFunctions, secureFunctions } from './function-rights.ts'
import { type MigrationTarget, underLock } from './migration-connection.ts'
import { buildStage, rehearsalNames, translate } from './rehearsal.ts'
import { type Grants, grantOnObjects } from './roles.ts'

/** An object that is not as the migrations make it. */
export interface Difference {
  /** `column users.email` */
  readonly object: string
  /** Its definition as the migrations make it; undefined: they make none. */
  readonly made: string | undefined
  /** Its definition in the database; undefined: it is not there. */
  readonly found: string | undefined
}

/** What was compared, and what differs. */
export interface Drift {
  readonly objects: number
  readonly differences: readonly Difference[]
}

export interface DriftOptions extends MigrationTarget {
  readonly sources: MigrationSources
  readonly functions?: CallableFunctions | undefined
  readonly grants?: Grants | undefined
}

/**
 * Compares the objects of a service with those that the same migrations make in an empty schema of their own, within a
 * transaction that is taken back: nothing remains, and no second database is needed.
 */
export function findDrift({ names, url, ...rest }: DriftOptions): Promise<Drift> {
  return underLock({ url, names }, async (db) => {
    const trx = await db.startTransaction().execute()
    try {
      const made = await rehearse(trx, { names, ...rest })
      const differences = compareCatalogues(made, await readCatalogue(trx, names))
      return { objects: made.size, differences: differences.filter((difference) => !isOfNeighbour(difference)) }
    } finally {
      await trx.rollback().execute()
    }
  })
}

async function rehearse(
  trx: Kysely<unknown>,
  { names, sources, functions, grants }: Omit<DriftOptions, 'url'>,
): Promise<Catalogue> {
  const stage = rehearsalNames(names)
  await buildStage(trx, stage, { names, sources })
  if (functions) await secureFunctions(trx, stage, functions)
  if (grants) await grantOnObjects(trx, { names: stage, functions, ...grants })
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

/** Several namespaces may share a schema: the role of another one must get in too. */
function isOfNeighbour({ object, made, found }: Difference): boolean {
  return object.startsWith('right the schema ') && made === undefined && found === 'USAGE'
}
