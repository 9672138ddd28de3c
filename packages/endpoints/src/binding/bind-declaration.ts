import { core, type ZodSafeParseResult, type ZodType, z } from 'zod'
import { VALUE_TEXTS } from '../error-texts.ts'
import { ISSUES_MAX, type Issue, ValidationError } from '../errors.ts'
import type { AcceptsSpec } from './accepts.ts'
import { closed, knownNames, objectOf } from './closed-schema.ts'
import { type Arguments, type Binding, emptyKeywords, issuePath, type Keywords, unknownNames } from './keywords.ts'

/** A value of the request and its schema. `at` is the path of the value in issues. It is `undefined` for the keywords. */
interface Check {
  readonly schema: ZodType
  readonly value: unknown
  readonly at: string | undefined
}

/**
 * Binds arguments by the schemas of a declaration (reference: Declared handlers).
 * @throws Error if a required positional follows an optional one
 */
export function bindDeclaration(spec: AcceptsSpec): Binding {
  const { path = [], rest, keywords: declared = z.object({}), body = 'keywords', aliases = {} } = spec
  const required = path.filter((item) => !isOptional(item)).length
  if (path.slice(0, required).some(isOptional)) throw new Error('has a required positional after an optional one')
  const max = rest === undefined ? path.length : Number.POSITIVE_INFINITY
  const names = knownNames(declared)
  const schema = objectOf(declared) === undefined ? closed(declared) : declared
  const aliased = Object.entries(aliases)
  const nameOf = (i: number): string => spec.names?.[i] ?? `path[${i}]`
  let asynchronous = false

  const bind = (positionals: Arguments, given: Keywords): Arguments | Promise<Arguments> => {
    const keywords = withoutAliases(given, aliased)
    const others = names === undefined ? [] : Object.keys(keywords).filter((name) => !names.has(name))
    const issues = unknownNames(others, names ?? new Set())
    // Only a body can contain too few or too many positionals. Those of the path were counted before.
    if (positionals.length < required) issues.push({ path: nameOf(positionals.length), message: VALUE_TEXTS.required })
    if (positionals.length > max) issues.push({ path: nameOf(max), message: VALUE_TEXTS.unexpected })
    if (issues.length > 0) throw new ValidationError(issues)
    const checks: Check[] = []
    for (const [i, item] of path.entries()) checks.push({ schema: item, value: positionals[i], at: nameOf(i) })
    for (let i = path.length; rest !== undefined && i < positionals.length; i += 1) {
      checks.push({ schema: rest, value: positionals[i], at: nameOf(i) })
    }
    checks.push({ schema, value: keywords, at: undefined })
    const context = isLarge(positionals, keywords) ? upToFirst : undefined
    const finish = (results: readonly ZodSafeParseResult<unknown>[]): Arguments => {
      const values = valuesOf(checks, results)
      if (rest === undefined) return values
      return [...values.slice(0, path.length), values.slice(path.length, -1), values.at(-1)]
    }
    try {
      if (!asynchronous) return finish(checks.map((check) => check.schema.safeParse(check.value, context)))
    } catch (error) {
      if (error instanceof ValidationError) throw error
      if (!(error instanceof core.$ZodAsyncError)) return listRefusals(checks, context, error).then(finish)
      asynchronous = true
    }
    return parseAll(checks, context)
      .catch((error) => listRefusals(checks, context, error))
      .then(finish)
  }
  const places = path.length + (rest === undefined ? 0 : 1)
  const knows = (name: string) => names === undefined || names.has(name) || Object.hasOwn(aliases, name)
  return { min: body === 'positionals' ? 0 : required, max, places, keywords: undefined, body, knows, bind }
}

/**
 * Stops the validation of an array or a record at its first invalid item. The types of Zod do not declare the option, because
 * only Zod's own `validate` sets it. A version of Zod without the option lists every invalid item, which takes longer.
 */
const upToFirst = { reportInput: false, abortEarly: true }
type Context = typeof upToFirst | undefined

/** The number of values up to which all are checked after an invalid one. More would take too long. */
const VALUES_MAX = 1_000

/** Returns whether JSON arrays and objects contain more than VALUES_MAX values. Stops counting at this number. */
function isLarge(...given: readonly unknown[]): boolean {
  let left = VALUES_MAX
  const exceeds = (each: unknown): boolean => {
    if (typeof each !== 'object' || each === null) return false
    const items: readonly unknown[] = Array.isArray(each) ? each : Object.values(each)
    left -= items.length
    return left < 0 || items.some(exceeds)
  }
  return given.some(exceeds)
}

function parseAll(checks: readonly Check[], context: Context): Promise<readonly ZodSafeParseResult<unknown>[]> {
  return Promise.all(checks.map(({ schema, value }) => schema.safeParseAsync(value, context)))
}

/**
 * Validates values again after a schema threw. A check of a schema may convert a value to a string or number, and an object from
 * a request may contain a broken `toString` or `valueOf`. Without these members, the schema refuses the value because of its
 * type. @throws the fault itself if the values are valid without these members, because the schema then has a defect;
 * ValidationError if Zod has found more issues in a nested array than a function call can take as arguments
 */
async function listRefusals(
  checks: readonly Check[],
  context: Context,
  fault: unknown,
): Promise<readonly ZodSafeParseResult<unknown>[]> {
  if (context !== undefined && fault instanceof RangeError && /call stack/i.test(fault.message)) {
    throw new ValidationError([{ path: '', message: VALUE_TEXTS.tooManyProblems }])
  }
  const tamed = checks.map((check) => ({ ...check, value: withoutConversions(check.value) }))
  const results = await parseAll(tamed, context).catch(() => Promise.reject(fault))
  if (results.every(({ success }) => success)) throw fault
  return results
}

/** Copies a JSON value without the members that JavaScript calls to convert objects. */
function withoutConversions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutConversions)
  if (typeof value !== 'object' || value === null || value instanceof Blob) return value
  const kept = Object.entries(value).filter(([name]) => name !== 'toString' && name !== 'valueOf')
  const copy = Object.fromEntries(kept.map(([name, item]) => [name, withoutConversions(item)]))
  return Object.getPrototypeOf(value) === null ? Object.assign(emptyKeywords(), copy) : copy
}

/** Returns whether a schema accepts a missing value, because it is optional or has a default. */
export function isOptional(schema: ZodType): boolean {
  return schema.safeParse(undefined).success
}

function withoutAliases(given: Keywords, aliases: readonly (readonly [string, string])[]): Keywords {
  if (aliases.length === 0) return given
  const used = aliases.filter(([alias]) => alias in given)
  if (used.length === 0) return given
  const keywords = Object.assign(emptyKeywords(), given)
  for (const [alias, name] of used) {
    if (!(name in keywords)) keywords[name] = keywords[alias]
    delete keywords[alias]
  }
  return keywords
}

function valuesOf(checks: readonly Check[], results: readonly ZodSafeParseResult<unknown>[]): unknown[] {
  if (results.every(({ success }) => success)) return results.map(({ data }) => data)
  const issuesOf = (check: Check, i: number) =>
    (results[i]?.error?.issues ?? []).slice(0, ISSUES_MAX).flatMap((issue) => toIssues(check, issue))
  throw new ValidationError(checks.flatMap(issuesOf))
}

function toIssues({ value, at }: Check, issue: z.core.$ZodIssue): readonly Issue[] {
  const path = at === undefined ? issue.path : [at, ...issue.path]
  const pathTo = (...more: readonly string[]): string => issuePath([...path, ...more].map(String).join('.'))
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, ISSUES_MAX).map((key) => ({ path: pathTo(key), message: VALUE_TEXTS.unknown }))
  const [name] = path
  const absent = at === undefined && path.length === 1 && typeof value === 'object' && !(String(name) in (value ?? {}))
  return [{ path: pathTo(), message: absent ? VALUE_TEXTS.required : issue.message }]
}
