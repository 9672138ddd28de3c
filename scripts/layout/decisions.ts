import type { Rule } from './source-tree.ts'

const DECISION = /^docs\/decisions\/\d{4}-[^/]+\.md$/
const SECTIONS = ['Context', 'Decision', 'Rejected', 'Consequences']

/** A decision names the rejected options and why, so that the next reader does not propose them again. */
export const decisions: Rule = (tree) =>
  tree.files
    .filter(({ path }) => DECISION.test(path))
    .flatMap(({ path, text }) =>
      SECTIONS.filter((title) => !text.split('\n').includes(`## ${title}`)).map((title) => ({
        path,
        message: `has no section "## ${title}"`,
      })),
    )
