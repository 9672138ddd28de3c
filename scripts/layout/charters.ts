import { z } from 'zod'
import type { Problem, Rule, SourceTree } from './source-tree.ts'

const Manifest = z.object({ description: z.string().min(1) })

/** The table with a row for each package, whose last cell is its charter. */
const TABLE = 'docs/architecture.md'

/**
 * Each package has a charter, which its files obey: the description in its `package.json`. Its README begins with the charter,
 * and the table of packages repeats it, so that a reader learns one sentence and not three.
 */
export const charters: Rule = (tree) => {
  const folders = new Set(tree.files.flatMap(({ path }) => /^packages\/[^/]+(?=\/)/.exec(path)?.[0] ?? []))
  return [...folders].flatMap((folder) => {
    const manifest = tree.read(`${folder}/package.json`)
    if (manifest === undefined) return []
    const { success, data } = Manifest.safeParse(JSON.parse(manifest))
    if (!success)
      return [{ path: `${folder}/package.json`, message: 'has no description: say what the package is for' }]
    return [...readmeProblems(tree, folder, data.description), ...tableProblems(tree, folder, data.description)]
  })
}

function readmeProblems({ files }: SourceTree, folder: string, charter: string): readonly Problem[] {
  const readme = files.find(({ path }) => path === `${folder}/README.md`)
  const [, first] = readme?.text.split('\n\n') ?? []
  if (first?.trim() === `${charter}.`) return []
  return [{ path: `${folder}/README.md`, message: `does not begin with the charter: ${charter}.` }]
}

function tableProblems({ files }: SourceTree, folder: string, charter: string): readonly Problem[] {
  return files
    .filter(({ path }) => path === TABLE)
    .filter(({ text }) => {
      const rows = text.split('\n').filter((line) => line.startsWith('|') && line.includes(folder))
      return !rows.some((row) => row.endsWith(`| ${charter} |`))
    })
    .map(({ path }) => ({ path, message: `has no row with the charter of ${folder}: ${charter}` }))
}
