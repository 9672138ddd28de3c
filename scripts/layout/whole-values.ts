import type { Expression } from 'oxc-parser'
import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** Matchers of vitest that look at a part of an object or a list. */
const PARTIAL: ReadonlySet<string> = new Set(['toMatchObject', 'objectContaining', 'arrayContaining'])
/** Tests of the answers of an API. The console answers pages, whose tests look at what a reader sees. */
const API_TEST = /^services\/(?!console\/)[^/]+\/src\/(routes|controllers)\/.*\.test\.ts$/

/**
 * Tests compare whole values: a matcher of a part lets a member pass that nobody expects, such as a secret.
 * What differs from run to run is any value of its form (`expect.stringMatching(…)`, `anyId`). Where one
 * member is the guarantee, the test takes it out. A test of a refusal compares its body too, because many
 * refusals have the same status.
 */
export const wholeValues: Rule = (tree) => {
  const files = tree.files.filter(({ path }) => path.endsWith('.ts'))
  return [
    ...files.flatMap(partialMatchersOf),
    ...files.filter(({ path }) => API_TEST.test(path)).flatMap(lonelyStatusesOf),
  ]
}

function partialMatchersOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  visitSyntax(file, {
    MemberExpression({ property, computed }) {
      if (computed || property.type !== 'Identifier' || !PARTIAL.has(property.name)) return
      const message = `${property.name} compares a part: compare the whole value by toEqual`
      problems.push({ path: file.path, line: lineAt(file.text, property.start), message })
    },
  })
  return problems
}

/** A part of a file, by its offsets. */
interface Part {
  readonly start: number
  readonly end: number
}

/** The places that compare the status of a refusal by `expect(….statusCode).toBe(404)`, in tests that name no body. */
function lonelyStatusesOf(file: SourceFile): readonly Problem[] {
  const refusals: (Part & { readonly status: number })[] = []
  const compared: (Part & { readonly status: unknown })[] = []
  const bodies: Part[] = []
  visitSyntax(file, {
    CallExpression({ callee, arguments: args, start, end }) {
      const [first] = args
      const status = first && titledStatus(file.text.slice(first.start, first.end))
      if (status !== undefined && args.length > 1) refusals.push({ start, end, status })
      if (isStatusMatcher(callee) && first?.type === 'Literal') compared.push({ start, end, status: first.value })
    },
    Identifier({ name, start, end }) {
      if (/body|json/i.test(name)) bodies.push({ start, end })
    },
  })
  return refusals
    .filter((refusal) => !bodies.some((body) => isWithin(body, refusal)))
    .flatMap((refusal) => compared.filter((one) => one.status === refusal.status && isWithin(one, refusal)))
    .map(({ start }) => ({
      path: file.path,
      line: lineAt(file.text, start),
      message: 'the status alone says little of a refusal: compare the body too',
    }))
}

/** The status with which the title of a refusal begins. */
function titledStatus(quoted: string): number | undefined {
  const status = /^['"`]([45]\d\d): /.exec(quoted)?.[1]
  return status === undefined ? undefined : Number(status)
}

/** Whether an expression is `expect(….statusCode).toBe`, or `toEqual`. */
function isStatusMatcher(matcher: Expression): boolean {
  if (matcher.type !== 'MemberExpression' || matcher.object.type !== 'CallExpression') return false
  const [value] = matcher.object.arguments
  if (value?.type === 'Identifier') return value.name === 'status' || value.name === 'statusCode'
  return (
    value?.type === 'MemberExpression' && value.property.type === 'Identifier' && value.property.name === 'statusCode'
  )
}

function isWithin(inner: Part, outer: Part): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}
