import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt } from './syntax.ts'
import { titledCallsOf } from './titled-calls.ts'

/** What vitest replaces in the title of a table: `%s`, `%.40s`, `$name`, `$user.email`. */
const PLACEHOLDER = /%(?:\.?\d+)?[a-z#$]|\$[\w.]+/gi

/** A verb of what any code does, with nothing beside it but the data: `judges %s`, `runs a %s`, `divides %d cores`. */
const LONE_VERB =
  /^(?:(?:\d{3}|%i): )?(?:judges|runs|divides|handles|processes|treats|tests|checks|decides|works|reads|parses|renders|compares|splits|writes)(?: (?:with|for|on|an?|the))?\s*(?:%(?:\.?\d+)?[a-z#]|\$[\w.]+)(?: \w+s)?$/

/**
 * The title of a test is its guarantee. A title that only repeats the data of its table (`%s: %j`, `$name`) promises nothing, so
 * it needs words of its own, and more of them than the verb of a function that has no outcome.
 */
export const testTitles: Rule = (tree) => tree.files.filter(({ path }) => path.endsWith('.test.ts')).flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  return titledCallsOf(file).flatMap(({ title, start, form }): Problem[] => {
    const remedy = form === 'text' ? remedyOf(title) : undefined
    const message = `the title "${title}" says no guarantee: ${remedy}`
    return remedy === undefined ? [] : [{ path: file.path, line: lineAt(file.text, start), message }]
  })
}

function remedyOf(title: string): string | undefined {
  if (!/\p{L}/u.test(title.replaceAll(PLACEHOLDER, ''))) return 'add a verb'
  return LONE_VERB.test(title) ? 'add the outcome' : undefined
}
