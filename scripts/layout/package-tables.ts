import { type Problem, productionFiles, type Rule, type SourceTree } from './source-tree.ts'

/** Its README is for those who install it, and says what they can do. */
const PUBLISHED = 'packages/endpoints'

/** The README of a package has a table of what its `src` holds: it names each file and folder there, in backticks. */
export const packageTables: Rule = (tree) => {
  const entries = new Set(productionFiles(tree, 'packages').flatMap(({ path }) => entryOf(path) ?? []))
  return [...entries].flatMap((entry) => missingEntry(tree, entry))
}

/** The place of a file directly below `src`: `packages/jobs/src/task.ts`, or a folder with `/` at its end. */
function entryOf(path: string): string | undefined {
  const [, entry] = /^(packages\/[^/]+\/src\/[^/]+(?:\/|$))/.exec(path) ?? []
  return entry?.startsWith(`${PUBLISHED}/`) ? undefined : entry
}

function missingEntry({ files }: SourceTree, entry: string): readonly Problem[] {
  const [folder = '', name = ''] = entry.split('/src/')
  const path = `${folder}/README.md`
  const text = files.find((file) => file.path === path)?.text ?? ''
  return text.includes(`\`${name}\``) ? [] : [{ path, message: `does not name \`${name}\` of its src` }]
}
