import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt } from './syntax.ts'

/**
 * Adoptions and imports look at what others have made while they waited for a lock. A transaction of a database whose
 * `default_transaction_isolation` is `repeatable read` would see what was there before the wait. So their transactions name their
 * isolation level, mostly by `inLatest`.
 */
export const latestSnapshots: Rule = (tree) =>
  productionFiles(tree, 'services').filter(isOfAdoption).flatMap(unnamedLevels)

function isOfAdoption({ path }: SourceFile): boolean {
  return /\/src\/(adoption|schema)\//.test(path)
}

function unnamedLevels({ path, text }: SourceFile): readonly Problem[] {
  return [...text.matchAll(/\.transaction\(\)(?!\s*\.setIsolationLevel\()/g)].map(({ index }) => ({
    path,
    line: lineAt(text, index),
    message:
      'a transaction without an isolation level may see what was there before it waited for a lock: use inLatest',
  }))
}
