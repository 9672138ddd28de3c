import { graphOf } from './import-graph.ts'
import { isOfKind } from './kinds.ts'
import { type Problem, productionFiles, type Rule } from './source-tree.ts'

/** A file of this many lines may stand alone. */
const LINES_MIN = 60

/** A migration is a file of its number, and a model is no part of the program. */
const NAMED = /^migrations\/[^/]+\/|\.model\.ts$/
/** Each rule of layout is a file, and this program runs them all. */
const RULES = { folder: 'scripts/layout/', importer: 'scripts/check-layout.ts' }
/** Only tests import these files, and tests do not count as importers. */
const FOR_TESTS = /\/testing\//

/**
 * A short file with one importer is a step of that file, and becomes a private function there. Tests count neither as
 * importers nor as files.
 */
export const singleImporters: Rule = (tree) => {
  const files = productionFiles(tree, 'services', 'packages', 'migrations', 'bench', 'scripts', 'examples').filter(
    ({ path }) => !FOR_TESTS.test(path),
  )
  const graph = graphOf(tree)
  const importers = new Map<string, string[]>()
  for (const { path } of files) {
    for (const target of graph.get(path) ?? []) importers.set(target, [...(importers.get(target) ?? []), path])
  }
  return files
    .filter(({ path }) => !NAMED.test(path) && !isOfKind(path))
    .flatMap(({ path, text }): Problem[] => {
      const lines = text.split('\n').length - 1
      const [importer, ...others] = importers.get(path) ?? []
      if (importer === undefined || others.length > 0 || lines >= LINES_MIN) return []
      if (path.startsWith(RULES.folder) && importer === RULES.importer) return []
      return [
        { path, message: `has ${lines} lines, and ${importer} alone imports it: make it private functions there` },
      ]
    })
}
