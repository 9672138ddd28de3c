import { posix } from 'node:path'
import type { Problem, Rule, SourceFile, SourceTree } from './source-tree.ts'
import { importsOf } from './syntax.ts'

/** The imported files of each TypeScript file by path, including types and `import()`. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>

const graphs = new WeakMap<SourceTree, ImportGraph>()

export function graphOf(tree: SourceTree): ImportGraph {
  const known = graphs.get(tree)
  if (known !== undefined) return known
  const files = tree.files.filter(({ path }) => path.endsWith('.ts'))
  const paths = new Set(files.map(({ path }) => path))
  const graph = new Map(files.map((file) => [file.path, importedFiles(file, paths)]))
  graphs.set(tree, graph)
  return graph
}

function importedFiles(file: SourceFile, paths: ReadonlySet<string>): readonly string[] {
  const targets = importsOf(file).flatMap(({ specifier }) => placesOf(file.path, specifier))
  return [...new Set(targets)].filter((target) => paths.has(target))
}

/** Possible files of a specifier. A package is a service, a package of this repository, or the migrations. */
export function placesOf(importer: string, specifier: string): readonly string[] {
  if (specifier.startsWith('.')) return [posix.join(posix.dirname(importer), specifier)]
  const [, name = '', file = `/${name}.ts`] = /^@trestle\/([^/]+)(\/.+)?$/.exec(specifier) ?? []
  return name === 'migrations' ? [`migrations${file}`] : [`services/${name}/src${file}`, `packages/${name}/src${file}`]
}

type Steps = (path: string) => readonly string[]

/**
 * Returns the shortest path from a file to a file that `isEnd` accepts, with at least one step and both ends included, or
 * `undefined`.
 */
export function shortestWay(
  start: string,
  stepsFrom: Steps,
  isEnd: (path: string) => boolean,
): readonly string[] | undefined {
  const waiting: (readonly string[])[] = [[start]]
  const seen = new Set<string>()
  for (const way of waiting) {
    for (const target of stepsFrom(way.at(-1) ?? start)) {
      if (seen.has(target)) continue
      seen.add(target)
      if (isEnd(target)) return [...way, target]
      waiting.push([...way, target])
    }
  }
  return undefined
}

/** No file imports itself through others, even by types. Such files cannot be understood, moved or tested separately. */
export const importCycles: Rule = (tree) => {
  const graph = graphOf(tree)
  return [...graph.keys()].flatMap((path): Problem[] => {
    const way = shortestWay(
      path,
      (from) => graph.get(from) ?? [],
      (target) => target === path,
    )
    return way === undefined ? [] : [{ path, message: `imports itself: ${way.join(' → ')}` }]
  })
}
