import { z } from 'zod'
import { placesOf, shortestWay } from './import-graph.ts'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { type ImportedModule, importsOf, programOf } from './syntax.ts'
import { outsideUses } from './uses-of-outside.ts'

/** Files of services that reach outside, without their ending, by folder, under the reason why each group does. */
const LIST = 'scripts/layout/impure-files.json'
const Reasons = z.record(z.string(), z.record(z.string(), z.array(z.string())))

/** Folders and files that tie rules to the outside. */
const OUTER =
  /^services\/[^/]+\/src\/((adoption\/)?(routes|controllers|use-cases|plugins|commands|config)\/|(app|config|database|deps|error-body|main|migrations|open-database|open-telemetry|openapi)\.ts$)/
/** Names that tell a reader that the file asks the database, alone or by a group commit, works on jobs, or calls a gateway. */
const OUTER_NAME = /-(repository|jobs?|group)\.ts$|\/gateways\//

/**
 * Every file of a service, outside of the folders that tie it together, decides by its arguments alone: neither it nor what it
 * imports uses the disk, the network, the database, the clock, the environment, the terminal or randomness. A file that does is
 * a repository, a job or the like by its name, or the list names it. A type of an outer module counts only in the file itself:
 * a function that takes a connection as an argument asks the database.
 */
export const pureFiles: Rule = (tree) => {
  const folders = Object.values(Reasons.parse(JSON.parse(tree.read(LIST) ?? '{}'))).flatMap(Object.entries<string[]>)
  const listed = folders.flatMap(([folder, names]) => names.map((name) => `${folder}/${name}.ts`))
  const files = new Map(productionFiles(tree, 'services', 'packages').map((file) => [file.path, file]))
  const wayFrom = waysOutside(files)
  const ways = new Map(
    [...files.keys()].filter(isPureByPlace).flatMap((path) => {
      const way = wayFrom(path)
      return way === undefined ? [] : [[path, way]]
    }),
  )
  return [
    ...[...ways]
      .filter(([path]) => !listed.includes(path))
      .map(([path, way]): Problem => ({ path, message: `is pure by its place, but reaches ${way.join(' → ')}` })),
    ...listed
      .filter((path) => !ways.has(path))
      .map((path) => ({ path: LIST, message: `lists ${path}, which is pure or not there` })),
  ]
}

function isPureByPlace(path: string): boolean {
  return path.startsWith('services/') && !OUTER.test(path) && !OUTER_NAME.test(path)
}

/**
 * The ways from files to the module or global by which they reach outside.
 * @returns a function of the path of a file; undefined for a pure one
 */
function waysOutside(files: ReadonlyMap<string, SourceFile>): (path: string) => readonly string[] | undefined {
  const outside = new Map([...files].map(([path, file]) => [path, outsideUses(file)[0]]))
  const values = new Map([...files].map(([path, file]) => [path, valuesFrom(file, files)]))
  return (path) => {
    const own = outside.get(path)
    if (own !== undefined) return [own]
    const way = shortestWay(
      path,
      (from) => values.get(from) ?? [],
      (to) => outside.get(to) !== undefined,
    )
    return way && [...way.slice(1), ...way.slice(-1).map((last) => outside.get(last) ?? '')]
  }
}

/**
 * Returns the files from which the values come that a file imports. The entry of a package only passes on what its files
 * declare.
 */
function valuesFrom(file: SourceFile, files: ReadonlyMap<string, SourceFile>): readonly string[] {
  return importsOf(file)
    .filter(({ isType }) => !isType)
    .flatMap((imported) =>
      placesOf(file.path, imported.specifier).flatMap((path) => placesPassedOn(files.get(path), imported) ?? [path]),
    )
}

/**
 * Returns the places from which an entry takes the names that a file imports of it. Undefined for another file, and when a name
 * is not found.
 */
function placesPassedOn(entry: SourceFile | undefined, { names, isWhole }: ImportedModule): string[] | undefined {
  if (entry === undefined || isWhole) return undefined
  if (!programOf(entry).body.every((node) => node.type === 'ExportNamedDeclaration' && node.source)) return undefined
  const sources = names.map((name) => importsOf(entry).find((source) => source.names.includes(name)))
  return sources.includes(undefined)
    ? undefined
    : sources.flatMap((source) => placesOf(entry.path, source?.specifier ?? ''))
}
