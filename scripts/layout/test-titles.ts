import type { CallExpression } from 'oxc-parser'
import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** What vitest replaces in the title of a table: `%s`, `%.40s`, `$name`, `$user.email`. */
const PLACEHOLDER = /%(?:\.?\d+)?[a-z#$]|\$[\w.]+/gi

/**
 * The title of a test is its guarantee. A title that only repeats the data of its table (`%s: %j`, `$name`) promises nothing, so
 * it needs words of its own.
 */
export const testTitles: Rule = (tree) => tree.files.filter(({ path }) => path.endsWith('.test.ts')).flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  visitSyntax(file, {
    CallExpression(node) {
      const title = titleOf(file, node)
      if (title === undefined || /\p{L}/u.test(title.replaceAll(PLACEHOLDER, ''))) return
      const message = `the title "${title}" says no guarantee: add a verb`
      problems.push({ path: file.path, line: lineAt(file.text, node.start), message })
    },
  })
  return problems
}

/** The title of a `describe`, `it` or `test`, also of `it.each(cases)(title, …)`. Undefined for other calls. */
function titleOf({ text }: SourceFile, { callee, arguments: [title] }: CallExpression): string | undefined {
  const called = text.slice(callee.start, callee.end)
  if (!/^(describe|it|test)\b(?!\w)/.test(called) || /^(\w+)(\.\w+)*\.(each|for|skipIf|runIf)$/.test(called)) return
  return title?.type === 'Literal' && typeof title.value === 'string' ? title.value : undefined
}
