import type { Rule } from './source-tree.ts'

const CHANGELOG = 'CHANGELOG.md'
const CHARACTERS_MAX = 300

/** An entry of the changelog tells users one thing, in a sentence or two. What needs more is in a document that it links to. */
export const changelogEntries: Rule = ({ files }) =>
  files
    .filter(({ path }) => path === CHANGELOG)
    .flatMap(({ path, text }) => text.split('\n').map((entry, index) => ({ path, line: index + 1, entry })))
    .filter(({ entry }) => entry.startsWith('- ') && entry.length > CHARACTERS_MAX)
    .map(({ path, line, entry }) => ({
      path,
      line,
      message: `the entry has ${entry.length} characters, not ${CHARACTERS_MAX}: give each of its subjects an entry`,
    }))
