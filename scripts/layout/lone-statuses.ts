import type { Argument, Expression } from 'oxc-parser'
import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'
import { titledCallsOf } from './titled-calls.ts'

/** Tests of the answers of an API. The console answers pages, whose tests look at what a reader sees. */
const API_TEST = /^services\/(?!console\/)[^/]+\/src\/(routes|controllers)\/.*\.test\.ts$/
/** Answers with these statuses have no body, or a body that nobody reads. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 302, 303, 304])

/**
 * A status alone says little: many refusals share one, and a success may have the wrong body. So a test
 * compares more than statuses, and the status of a refusal together with its body. A test of a route or a
 * controller compares the body of the answer whose status its title names. The status of a success may stand
 * alone as a step to what the test compares, or as a contrast. A list of a status and headers compares no body.
 */
export const loneStatuses: Rule = (tree) =>
  tree.files.filter(({ path }) => path.endsWith('.test.ts')).flatMap(loneStatusesOf)

/** A part of a file, by its offsets. */
interface Part {
  readonly start: number
  readonly end: number
}

/** The expectation of a status. */
interface StatusPart extends Part {
  readonly status: number
  /** The variable that has the answer, or a list of answers; undefined when none has. */
  readonly answer: string | undefined
}

/** The expectations of a file. */
interface Comparisons {
  readonly statuses: readonly StatusPart[]
  /** The refusals among the values of a list: `expect([answer.status, answer.headers.allow]).toEqual([405, 'GET'])`. */
  readonly listed: readonly StatusPart[]
  /** All calls of `expect` and of functions that begin with it. */
  readonly expected: readonly Part[]
  /** The names in the file that say body or JSON. */
  readonly bodies: readonly Part[]
}

function loneStatusesOf(file: SourceFile): readonly Problem[] {
  const { statuses, listed, expected, bodies } = comparisonsOf(file)
  const isApi = API_TEST.test(file.path)
  return titledCallsOf(file)
    .filter(({ isGroup }) => !isGroup)
    .flatMap((test) => {
      const within = statuses.filter((one) => isWithin(one, test))
      const isAlone = within.length === expected.filter((one) => isWithin(one, test)).length
      const hasBody = bodies.some((one) => isWithin(one, test))
      const rest = textWithout(file.text, test, within)
      const lone = within.filter(
        ({ status, answer }) =>
          isAlone ||
          (isApi && !hasBody && test.title.startsWith(`${status}: `)) ||
          (status >= 400 && !comparesBody(rest, answer)),
      )
      return [...lone, ...listed.filter((one) => isWithin(one, test) && !comparesBody(rest, one.answer))]
    })
    .filter(({ status }) => !WITHOUT_BODY.has(status))
    .map(({ start }) => ({
      path: file.path,
      line: lineAt(file.text, start),
      message: 'the status alone says little of an answer: compare the body too',
    }))
}

function textWithout(text: string, test: Part, parts: readonly Part[]): string {
  const cuts = [test.start, ...parts.flatMap(({ start, end }) => [start, end]), test.end]
  return cuts.flatMap((cut, nth) => (nth % 2 === 0 ? [text.slice(cut, cuts[nth + 1])] : [])).join('')
}

/** Whether the rest of a test uses more of an answer than its status and its headers. */
function comparesBody(rest: string, answer: string | undefined): boolean {
  return (
    answer !== undefined &&
    new RegExp(`\\b${answer}\\b(?!\\.(?:status|headers|map\\(\\(\\{ status)|\\s*[,}=:])`).test(rest)
  )
}

function comparisonsOf(file: SourceFile): Comparisons {
  const statuses: StatusPart[] = []
  const listed: StatusPart[] = []
  const expected: Part[] = []
  const bodies: Part[] = []
  visitSyntax(file, {
    CallExpression({ callee, arguments: [first], start, end }) {
      const status = first === undefined ? undefined : statusIn(file.text.slice(first.start, first.end))
      const compared = comparedStatus(callee)
      if (status !== undefined && compared !== undefined) statuses.push({ start, end, status, answer: compared.answer })
      for (const one of refusalsInList(file, callee, first)) listed.push({ start, end, ...one })
      if (/^expect(\w*|\.poll)$/.test(file.text.slice(callee.start, callee.end))) expected.push({ start, end })
    },
    Identifier({ name, start, end }) {
      if (/body|json/i.test(name)) bodies.push({ start, end })
    },
  })
  return { statuses, listed, expected, bodies }
}

/** The status that a number has, or the highest one of a list. */
function statusIn(text: string): number | undefined {
  if (!/^(?:[2-5]\d\d|\[[2-5]\d\d(?:, [2-5]\d\d)*\])$/.test(text)) return undefined
  return Math.max(...Array.from(text.matchAll(/\d+/g), ([digits]) => Number(digits)))
}

/** The refusals that `expect([answer.status, …]).toEqual([409, …])` compares, each with its answer. */
function refusalsInList(
  { text }: SourceFile,
  matcher: Expression,
  values: Argument | undefined,
): readonly Pick<StatusPart, 'status' | 'answer'>[] {
  const compared = expectedValue(matcher)
  if (compared?.type !== 'ArrayExpression' || values?.type !== 'ArrayExpression') return []
  if (/\b(?:body|html|json|text)\b/.test(text.slice(compared.start, compared.end))) return []
  return compared.elements.flatMap((element, nth) => {
    const value = values.elements[nth]
    if (!element || !value || element.type === 'SpreadElement') return []
    const [read, status] = [answerOf(element), statusIn(text.slice(value.start, value.end))]
    return read === undefined || status === undefined || status < 400 ? [] : [{ status, answer: read.answer }]
  })
}

/** The answer of `expect(….statusCode).toBe`, also of `toEqual` and of `expect(….map(({ status }) => status)).toEqual`. */
function comparedStatus(matcher: Expression): { readonly answer: string | undefined } | undefined {
  const value = expectedValue(matcher)
  return value === undefined ? undefined : answerOf(value)
}

/** The value of `expect(value).toBe`, also of `expect(value).toEqual`. */
function expectedValue(matcher: Expression): Expression | undefined {
  if (matcher.type !== 'MemberExpression' || matcher.object.type !== 'CallExpression') return undefined
  if (matcher.property.type !== 'Identifier' || !/^to(Be|Equal)$/.test(matcher.property.name)) return undefined
  const [value] = matcher.object.arguments
  return value === undefined || value.type === 'SpreadElement' ? undefined : value
}

function answerOf(value: Expression): { readonly answer: string | undefined } | undefined {
  if (value.type === 'Identifier') return isStatusName(value.name) ? { answer: 'body' } : undefined
  if (value.type === 'MemberExpression') return isStatusMember(value) ? { answer: nameOf(value.object) } : undefined
  if (value.type !== 'CallExpression' || value.callee.type !== 'MemberExpression') return undefined
  const { object, property } = value.callee
  if (property.type !== 'Identifier') return undefined
  if (/^(sort|toSorted)$/.test(property.name)) return answerOf(object)
  return property.name === 'map' && isReadOfStatus(value.arguments[0]) ? { answer: nameOf(object) } : undefined
}

/** Whether a function is `({ status }) => status`, or `([status]) => status`. */
function isReadOfStatus(read: Argument | undefined): boolean {
  return read?.type === 'ArrowFunctionExpression' && read.body.type === 'Identifier' && isStatusName(read.body.name)
}

/** Whether an expression is `answer.statusCode`. */
function isStatusMember(value: Expression): boolean {
  return value.type === 'MemberExpression' && value.property.type === 'Identifier' && isStatusName(value.property.name)
}

function nameOf(object: Expression): string | undefined {
  return object.type === 'Identifier' ? object.name : undefined
}

function isStatusName(name: string): boolean {
  return name === 'status' || name === 'statusCode'
}

function isWithin(inner: Part, outer: Part): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}
