import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt } from './syntax.ts'
import { titledCallsOf } from './titled-calls.ts'

/** The placeholders that vitest replaces in the title of a table: `%s`, `%.40s`, `$name`, `$user.email`. */
const PLACEHOLDER = /%(?:\.?\d+)?[a-z#$]|\$[\w.]+/gi

/** A verb of what any code does, with nothing beside it but the data: `judges %s`, `runs a %s`, `divides %d cores`. */
const LONE_VERB =
  /^(?:(?:\d{3}|%i): )?(?:judges|runs|divides|handles|processes|treats|tests|checks|decides|works|reads|parses|renders|compares|splits|writes)(?: (?:with|for|on|an?|the))?\s*(?:%(?:\.?\d+)?[a-z#]|\$[\w.]+)(?: \w+s)?$/

/** A pair of what a function takes and returns, with a verb at most: `%j is %j`, `reads %j as %j`, `judges %s: %s`. */
const LONE_PAIR =
  /^(?:(?:reads|parses|converts|splits|shows|writes|counts|matches|judges|measures|rounds|of) )?PLACEHOLDER(?:[ =/]PLACEHOLDER)?(?: (?:is|as|to|into|under|becomes) |: )PLACEHOLDER$/

/** Statuses of several outcomes before the guarantee: `401, 403 and 404: …`, `201, else 400: …`. */
const SEVERAL_STATUSES = /^[1-5]\d\d(?:,? (?:and |or |else )?[1-5]\d\d)+:/

/** Parallel requests have several outcomes at once: `200 and 422: accepts one of many parallel uses of a code`. */
const RACE = /\bparallel\b/

/** A test of a route or a controller. */
const TESTS_URL = /^services\/[^/]+\/src\/(?:routes|controllers)\//

/** The status before the guarantee, also with its code, a placeholder of it, or those of parallel requests. */
const STATUS = /^(?:[1-5]\d\d(?:(?: and|,) [1-5]\d\d)?(?: [A-Z_]+)?|%[ids]|\$\w+): /

/**
 * The title of a test is its guarantee. A title that only repeats the data of its table (`%s: %j`, `$name`) promises nothing, so
 * it needs words of its own, and more of them than the verb of a function: they say what the values of the table are. A title
 * with several statuses or with a semicolon promises several things, and a failure would not say which of them is broken. The
 * title of a test of a route begins with the status of the answer. What has no answer is no test of a route, and stands
 * elsewhere.
 */
export const testTitles: Rule = (tree) =>
  tree.files
    .filter(({ path }) => path.endsWith('.test.ts'))
    .flatMap((file) => [...vagueTitlesOf(file), ...joinedTitlesOf(file), ...titlesWithoutStatus(file)])

function vagueTitlesOf(file: SourceFile): readonly Problem[] {
  return titledCallsOf(file).flatMap(({ title, start, form }): Problem[] => {
    const remedy = form === 'text' ? remedyOf(title) : undefined
    const message = `the title "${title}" says no guarantee: ${remedy}`
    return remedy === undefined ? [] : [{ path: file.path, line: lineAt(file.text, start), message }]
  })
}

function remedyOf(title: string): string | undefined {
  if (!/\p{L}/u.test(title.replaceAll(PLACEHOLDER, ''))) return 'add a verb'
  const guarantee = title.replace(/^(?:\d{3}|%i): /, '')
  if (LONE_PAIR.test(guarantee.replaceAll(PLACEHOLDER, 'PLACEHOLDER'))) return 'say what the values are'
  return LONE_VERB.test(title) ? 'add the outcome' : undefined
}

function joinedTitlesOf(file: SourceFile): readonly Problem[] {
  return titledCallsOf(file)
    .filter(({ title, form, isGroup }) => !isGroup && form !== 'expression' && isJoined(title))
    .map(({ title, start }) => ({
      path: file.path,
      line: lineAt(file.text, start),
      message: `the title "${title}" joins guarantees: give each a test`,
    }))
}

function isJoined(title: string): boolean {
  return title.includes('; ') || (SEVERAL_STATUSES.test(title) && !RACE.test(title))
}

function titlesWithoutStatus(file: SourceFile): readonly Problem[] {
  if (!TESTS_URL.test(file.path)) return []
  return titledCallsOf(file)
    .filter(({ title, form, isGroup }) => !isGroup && form !== 'expression' && !STATUS.test(title))
    .map(({ title, start }) => ({
      path: file.path,
      line: lineAt(file.text, start),
      message: `the title "${title}" has no status: begin it with one, such as "200: "`,
    }))
}
