import type { Expression } from 'oxc-parser'
import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'
import { titledCallsOf } from './titled-calls.ts'

/** Tests of the answers of an API. The console answers pages, whose tests look at what a reader sees. */
const API_TEST = /^services\/(?!console\/)[^/]+\/src\/(routes|controllers)\/.*\.test\.ts$/
/** Answers with these statuses have no body, or a body that nobody reads. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 302, 303, 304])

/**
 * A status alone says little: many refusals share one, and a success may have the wrong body. So a test
 * compares more than the status of an answer that has a body. A test of a route or a controller compares the
 * body of the answer whose status its title names.
 */
export const loneStatuses: Rule = (tree) =>
  tree.files.filter(({ path }) => path.endsWith('.test.ts')).flatMap(loneStatusesOf)

/** A part of a file, by its offsets. */
interface Part {
  readonly start: number
  readonly end: number
}

/** The expectations of a file. */
interface Comparisons {
  readonly statuses: readonly (Part & { readonly status: number })[]
  /** All calls of `expect` and of functions that begin with it. */
  readonly expected: readonly Part[]
  /** The names in the file that say body or JSON. */
  readonly bodies: readonly Part[]
}

function loneStatusesOf(file: SourceFile): readonly Problem[] {
  const { statuses, expected, bodies } = comparisonsOf(file)
  const isApi = API_TEST.test(file.path)
  return titledCallsOf(file)
    .filter(({ isGroup }) => !isGroup)
    .flatMap((test) => {
      const within = statuses.filter((one) => isWithin(one, test))
      const isAlone = within.length === expected.filter((one) => isWithin(one, test)).length
      const hasBody = bodies.some((one) => isWithin(one, test))
      return within.filter(({ status }) => isAlone || (isApi && !hasBody && test.title.startsWith(`${status}: `)))
    })
    .filter(({ status }) => !WITHOUT_BODY.has(status))
    .map(({ start }) => ({
      path: file.path,
      line: lineAt(file.text, start),
      message: 'the status alone says little of an answer: compare the body too',
    }))
}

function comparisonsOf(file: SourceFile): Comparisons {
  const statuses: (Part & { readonly status: number })[] = []
  const expected: Part[] = []
  const bodies: Part[] = []
  visitSyntax(file, {
    CallExpression({ callee, arguments: [first], start, end }) {
      const status = first?.type === 'Literal' && typeof first.value === 'number' ? first.value : undefined
      if (status !== undefined && status >= 200 && isStatusMatcher(callee)) statuses.push({ start, end, status })
      if (/^expect(\w*|\.poll)$/.test(file.text.slice(callee.start, callee.end))) expected.push({ start, end })
    },
    Identifier({ name, start, end }) {
      if (/body|json/i.test(name)) bodies.push({ start, end })
    },
  })
  return { statuses, expected, bodies }
}

/** Whether an expression is `expect(….statusCode).toBe`, or `toEqual`. */
function isStatusMatcher(matcher: Expression): boolean {
  if (matcher.type !== 'MemberExpression' || matcher.object.type !== 'CallExpression') return false
  if (matcher.property.type !== 'Identifier' || !/^to(Be|Equal)$/.test(matcher.property.name)) return false
  const [value] = matcher.object.arguments
  if (value?.type === 'Identifier') return isStatusName(value.name)
  return value?.type === 'MemberExpression' && value.property.type === 'Identifier' && isStatusName(value.property.name)
}

function isStatusName(name: string): boolean {
  return name === 'status' || name === 'statusCode'
}

function isWithin(inner: Part, outer: Part): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}
