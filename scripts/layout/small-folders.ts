import { posix } from 'node:path'
import { exceptListed } from './exceptions.ts'
import { isOfKind } from './kinds.ts'
import { type Problem, productionFiles, type Rule } from './source-tree.ts'

const FILES_MIN = 3
const BELOW_SOURCES = /^(services|packages)\/[^/]+\/src\/./
/** `driver` holds the code that depends on the internals of `pg`. */
const EXEMPT = /\/driver(\/|$)/

/**
 * A folder is a noun with several files. The files of a smaller folder live in the folder of the noun that owns their rows,
 * which saves a reader one step. Files of folders below count, tests do not.
 */
export const smallFolders: Rule = (tree) => {
  const counts = new Map<string, number>()
  for (const { path } of productionFiles(tree, 'services', 'packages')) {
    for (const folder of foldersAbove(path)) counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  const problems = [...counts]
    .filter(([path, count]) => count < FILES_MIN && !EXEMPT.test(path) && !isOfKind(path))
    .map(([path, count]): Problem => ({ path, message: `holds ${count} of at least ${FILES_MIN} files` }))
  return exceptListed(tree, 'small-folders', problems)
}

/** The folders below `src` that a file is in, the innermost first. */
function foldersAbove(path: string): readonly string[] {
  const folder = posix.dirname(path)
  return BELOW_SOURCES.test(folder) ? [folder, ...foldersAbove(folder)] : []
}
