import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt } from './syntax.ts'
import { titledCallsOf } from './titled-calls.ts'

/** What vitest replaces in the title of a table: `%s`, `%.40s`, `$name`, `$user.email`. */
const PLACEHOLDER = /%(?:\.?\d+)?[a-z#$]|\$[\w.]+/gi

/**
 * The title of a test is its guarantee. A title that only repeats the data of its table (`%s: %j`, `$name`) promises nothing, so
 * it needs words of its own.
 */
export const testTitles: Rule = (tree) => tree.files.filter(({ path }) => path.endsWith('.test.ts')).flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  return titledCallsOf(file)
    .filter(({ title, form }) => form === 'text' && !/\p{L}/u.test(title.replaceAll(PLACEHOLDER, '')))
    .map(({ title, start }) => ({
      path: file.path,
      line: lineAt(file.text, start),
      message: `the title "${title}" says no guarantee: add a verb`,
    }))
}
