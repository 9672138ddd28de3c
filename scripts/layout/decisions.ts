import { posix } from 'node:path'
import type { Problem, Rule, SourceFile, SourceTree } from './source-tree.ts'

const DECISION = /^docs\/decisions\/\d{4}-[^/]+\.md$/
const INDEX = 'docs/decisions/README.md'
const SECTIONS = ['Context', 'Decision', 'Rejected', 'Consequences']

/**
 * A decision names the rejected options and why, so that the next reader does not propose them again. The
 * index has its title.
 */
export const decisions: Rule = (tree) =>
  tree.files
    .filter(({ path }) => DECISION.test(path))
    .flatMap((file) => [...missingSections(file), ...missingRow(tree, file)])

function missingSections({ path, text }: SourceFile): readonly Problem[] {
  return SECTIONS.filter((title) => !text.split('\n').includes(`## ${title}`)).map((title) => ({
    path,
    message: `has no section "## ${title}"`,
  }))
}

function missingRow(tree: SourceTree, { path, text }: SourceFile): readonly Problem[] {
  const name = posix.basename(path)
  const [, title] = /^# \d+\. (.+)$/m.exec(text) ?? []
  const row = `| [${name.slice(0, 4)}](${name}) | ${title} |`
  const index = tree.files.find((file) => file.path === INDEX)?.text ?? ''
  return index.split('\n').some((line) => line.startsWith(row)) ? [] : [{ path: INDEX, message: `has no row ${row}` }]
}
