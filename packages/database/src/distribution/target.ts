import { type FunctionFiles, type FunctionPlace, placeOf } from '@trestle/migrations/functions.ts'
import type { MigrationSources, Names, TableClass } from '@trestle/migrations/migration.ts'

/**
 * The class of each table and the place of each function that the migrations and the files of functions want. Names have no
 * prefix.
 */
export interface DistributionTarget {
  /** The class of each table, in the order in which migrations create them. */
  readonly tables: ReadonlyMap<string, TableClass>
  /** The column by which rows are divided over the servers. */
  readonly column: string
  /** The first table of the class `owned`. All others are divided as it is. */
  readonly anchor: string
  readonly functions: ReadonlyMap<string, FunctionPlace>
}

/**
 * Reads where migrations and functions of a release want everything to be.
 * @throws Error if a file of a function does not say where the function runs, or if no table is divided
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

/** The tables of a class, in the order of their creation. */
export function tablesOf(tables: DistributionTarget['tables'], kind: TableClass): readonly string[] {
  return [...tables].filter(([, own]) => own === kind).map(([name]) => name)
}
