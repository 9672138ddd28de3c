import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface SourceFile {
  /** The path from the root, with `/`: `services/auth/src/app.ts`. */
  readonly path: string
  readonly text: string
}

/** The files that the layout rules read. */
export interface SourceTree {
  readonly root: string
  /** Sorted by path. */
  readonly files: readonly SourceFile[]
  /** The text of any other file by its path from the root, or `undefined` if it does not exist. */
  readonly read: (path: string) => string | undefined
}

/** A broken rule, as `check-layout` prints it. */
export interface Problem {
  readonly path: string
  /** The line, starting at 1. Absent if the problem concerns the whole file. */
  readonly line?: number
  readonly message: string
}

/** A rule of the house style. It checks the tree and returns the problems. */
export type Rule = (tree: SourceTree) => readonly Problem[] | Promise<readonly Problem[]>

const skippedFolders = new Set(['node_modules', 'coverage', 'dist', 'logs'])

/** Whether a file is a source or a document, by its name. */
export function isSource(name: string): boolean {
  return /\.(ts|m?js|md|sql)$/.test(name)
}

/** Reads sources and documents under `root`, except installed, generated and hidden files. */
export function readSourceTree(root: string): SourceTree {
  const files: SourceFile[] = []
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  const enter = (folder: string): void => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true })
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) {
        if (!skippedFolders.has(entry.name) && !entry.name.startsWith('.')) enter(path)
      } else if (entry.isFile() && isSource(entry.name)) {
        files.push({ path, text: read(path) })
      }
    }
  }
  enter('')
  return { root, files, read: (path) => (existsSync(join(root, path)) ? read(path) : undefined) }
}

/** A test, or a file that only tests import. `src/routes/test/` is production code, to which all rules apply. */
export function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || (/\/test\//.test(path) && !path.includes('/src/routes/test/'))
}

/** The TypeScript files in the folders, without tests. */
export function productionFiles(tree: SourceTree, ...folders: readonly string[]): readonly SourceFile[] {
  return tree.files.filter(
    ({ path }) =>
      path.endsWith('.ts') &&
      !isTest(path) &&
      folders.some((folder) => path === folder || path.startsWith(`${folder}/`)),
  )
}

export function serviceNames(tree: SourceTree): readonly string[] {
  const names = tree.files.flatMap(({ path }) => /^services\/([^/]+)\/src\//.exec(path)?.[1] ?? [])
  return [...new Set(names)]
}
