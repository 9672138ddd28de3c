import { posix } from 'node:path'
import { isOfKind } from './kinds.ts'
import type { Problem, Rule } from './source-tree.ts'

const FILES_MIN = 3
/** The roots of sources. Each folder below them is judged. `bin/` is none, since npm looks for a program there. */
const ROOT =
  /^(?:(?:services|packages)\/[^/]+\/(?:src|test)|packages\/[^/]+\/examples|bench\/src|scripts|examples\/[^/]+)(?=\/)/

/**
 * A folder is a noun with several files. The files of a smaller folder live in the folder of the noun that owns their rows,
 * which saves a reader one step. Files of folders below count, and tests only in folders of tests.
 */
export const smallFolders: Rule = (tree) => {
  const counts = new Map<string, number>()
  for (const { path } of tree.files) {
    if (!path.endsWith('.ts') || isTestInSources(path)) continue
    for (const folder of foldersAbove(path)) counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([path, count]) => count < FILES_MIN && !isOfKind(path))
    .map(([path, count]): Problem => ({ path, message: `holds ${count} of at least ${FILES_MIN} files` }))
}

/** Whether a file lies among sources but is a test. In a folder `test`, all files count. */
function isTestInSources(path: string): boolean {
  return !/^(?:[^/]+\/[^/]+|scripts)\/test\//.test(path) && (path.endsWith('.test.ts') || path.includes('/test/'))
}

/** The folders that a file is in, the innermost first: those below `src`, and `test`. */
function foldersAbove(path: string): readonly string[] {
  const [root] = ROOT.exec(path) ?? []
  if (root === undefined) return []
  const folders: string[] = []
  for (let folder = posix.dirname(path); folder !== root; folder = posix.dirname(folder)) folders.push(folder)
  return root.endsWith('/test') ? [...folders, root] : folders
}
