import { exceptListed } from './exceptions.ts'
import { graphOf } from './import-graph.ts'
import { isOfKind } from './kinds.ts'
import { type Problem, productionFiles, type Rule } from './source-tree.ts'

/** A file of this many lines may stand alone. */
const LINES_MIN = 60

/** Files that readers look for by name. Rules of layout are among them. */
const NAMED =
  /^scripts\/layout\/|^migrations\/[^/]+\/|\/(main|deps|errors|config|migrations|work)\.ts$|-job\.ts$|\.model\.ts$/
/** Files that only tests run, or readers of examples. */
const NOT_IN_PRODUCTION = /\/(testing|examples)\//

/**
 * A short file with one importer is a step of that file, and becomes a private function there. Tests count neither as
 * importers nor as files.
 */
export const singleImporters: Rule = (tree) => {
  const files = productionFiles(tree, 'services', 'packages', 'migrations', 'bench', 'scripts').filter(
    ({ path }) => !NOT_IN_PRODUCTION.test(path),
  )
  const graph = graphOf(tree)
  const importers = new Map<string, string[]>()
  for (const { path } of files) {
    for (const target of graph.get(path) ?? []) importers.set(target, [...(importers.get(target) ?? []), path])
  }
  const problems = files
    .filter(({ path }) => !NAMED.test(path) && !isOfKind(path))
    .flatMap(({ path, text }): Problem[] => {
      const lines = text.split('\n').length - 1
      const [importer, ...others] = importers.get(path) ?? []
      if (importer === undefined || others.length > 0 || lines >= LINES_MIN) return []
      return [
        { path, message: `has ${lines} lines, and ${importer} alone imports it: make it private functions there` },
      ]
    })
  return exceptListed(tree, 'single-importers', problems)
}
