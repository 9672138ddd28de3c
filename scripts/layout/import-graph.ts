import { posix } from 'node:path'
import type { Problem, Rule, SourceFile, SourceTree } from './source-tree.ts'
import { importsOf } from './syntax.ts'

/** The files that each TypeScript file imports, by path. Types and `import()` count. */
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

/** The places where the file of a specifier may be: a package is a service, a package of this repository, or the migrations. */
export function placesOf(importer: string, specifier: string): readonly string[] {
  if (specifier.startsWith('.')) return [posix.join(posix.dirname(importer), specifier)]
  const [, name = '', file = `/${name}.ts`] = /^@trestle\/([^/]+)(\/.+)?$/.exec(specifier) ?? []
  return name === 'migrations' ? [`migrations${file}`] : [`services/${name}/src${file}`, `packages/${name}/src${file}`]
}

/** The files that one file leads to. */
type Steps = (path: string) => readonly string[]

/**
 * The shortest way from a file to one that `isEnd` accepts, at least one step long, both ends included. Undefined if
 * there is none.
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

/** No file imports itself through others, types included: a reader could understand, move or test none of them alone. */
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
