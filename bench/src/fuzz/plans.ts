import fc from 'fast-check'
import { damages } from './damage.ts'
import { hostileName, hostileText, hostileValue } from './hostile.ts'
import type { ApiDocument, Operation } from './openapi.ts'
import type { Credential, Plan } from './plan.ts'
import { type Lexicon, type ValueContext, validValue } from './valid-value.ts'

/** Parts of a request that may depend on each other: all path parameters, the query and the headers. */
export type PartsTogether = Partial<Pick<Plan, 'params' | 'query' | 'headers'>>

/** Facts about a service that are not in its OpenAPI document. */
export interface PlanSources {
  readonly document: ApiDocument
  readonly lexicon: Lexicon
  /** Complete bodies that a use case accepts, by operation. */
  readonly bodies: Readonly<Record<string, fc.Arbitrary<unknown>>>
  /** Parts of a request whose values belong together, by operation. */
  readonly together?: Readonly<Record<string, fc.Arbitrary<PartsTogether>>> | undefined
  readonly headers: Lexicon
  readonly actors: number
  readonly credentialOf: (operation: Operation) => Credential
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
/** How often an operation is chosen. Operations that create are more frequent than operations that delete. */
const weights: Readonly<Record<string, number>> = { GET: 2, POST: 4, PUT: 3, PATCH: 3, DELETE: 1 }
const BATCH_PLANS = 500

/** Yields requests without end: valid, nearly valid and hostile. Equal seeds give the same requests in the same order. */
export function* plans(sources: PlanSources, seed: number): Generator<Plan> {
  const arbitrary = plan(sources)
  for (let batch = 0; ; batch += 1) yield* fc.sample(arbitrary, { seed: seed + batch * 0x10001, numRuns: BATCH_PLANS })
}

function plan(sources: PlanSources): fc.Arbitrary<Plan> {
  const operations = sources.document.operations.map((operation) => {
    const valid = validPlan(operation, sources)
    return {
      weight: weights[operation.method] ?? 1,
      arbitrary: fc.oneof(
        { weight: 5, arbitrary: valid },
        { weight: 4, arbitrary: damaged(valid) },
        { weight: 2, arbitrary: hostilePlan(operation, sources) },
      ),
    }
  })
  return fc.oneof(...operations)
}

function validPlan(operation: Operation, sources: PlanSources): fc.Arbitrary<Plan> {
  const context: ValueContext = { lexicon: sources.lexicon, resolve: sources.document.resolve }
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query')
  const members = (parameters: typeof inPath) =>
    Object.fromEntries(parameters.map(({ name, schema }) => [name, validValue(schema, name, context)]))
  const required = inQuery.filter((parameter) => parameter.required).map(({ name }) => name)
  const made = fc.record<Plan>({
    method: fc.constant(operation.method),
    path: fc.constant(operation.path),
    params: fc.record<Record<string, unknown>>(members(inPath)),
    ending: fc.constant(''),
    query: fc
      .record<Record<string, unknown>>(members(inQuery), { requiredKeys: required })
      .map((query) => Object.entries(query).filter(([, value]) => value !== undefined)),
    headers: headersOf(operation, sources.headers, context),
    body: bodyOf(operation, sources, context),
    credential: fc.constant(sources.credentialOf(operation)),
    actor: fc.nat(sources.actors - 1),
  })
  const together = sources.together?.[operation.name]
  return preferWhole(together && fc.tuple(made, together).map(([plan, parts]) => ({ ...plan, ...parts })), made)
}

function bodyOf({ name, bodies }: Operation, { bodies: known }: PlanSources, context: ValueContext) {
  const [first, ...others] = Object.entries(bodies)
  if (first === undefined) return fc.constant(undefined)
  const whole = known[name]
  return fc.oneof(
    ...[first, ...others].map(([type, schema]) => {
      const value = validValue(schema, '', context)
      return fc.record({
        type: fc.constant(type === '*/*' ? 'text/csv' : type),
        value: preferWhole(whole, value),
        spoil: fc.constant(unchanged),
      })
    }),
  )
}

/** Mostly returns a complete value of the target, if there is one for the operation. */
function preferWhole<Value>(whole: fc.Arbitrary<Value> | undefined, made: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return whole ? fc.oneof({ weight: 2, arbitrary: whole }, { weight: 1, arbitrary: made }) : made
}

/** Chooses the required headers of the operation, and at most one other header. */
function headersOf(operation: Operation, headers: Lexicon, context: ValueContext): fc.Arbitrary<Plan['headers']> {
  const one = Object.entries(headers).map(([name, values]) => values.map((value): Plan['headers'] => [[name, value]]))
  const others = fc.oneof({ weight: 1 + 3 * one.length, arbitrary: fc.constant<Plan['headers']>([]) }, ...one)
  return fc
    .tuple(requiredHeaders(operation, context), others)
    .map(([required, other]) => [...required.filter(([name]) => name !== other[0]?.[0]), ...other])
}

function requiredHeaders({ parameters }: Operation, context: ValueContext): fc.Arbitrary<Plan['headers']> {
  const required = parameters.filter((parameter) => parameter.in === 'header' && parameter.required)
  return fc.tuple(
    ...required.map(({ name, schema }) =>
      validValue(schema, name, context).map((value) => [name.toLowerCase(), value] as const),
    ),
  )
}

function damaged(valid: fc.Arbitrary<Plan>): fc.Arbitrary<Plan> {
  return fc
    .tuple(valid, fc.array(damages, { minLength: 1, maxLength: 2 }))
    .map(([start, damage]) => damage.reduce((damagedSoFar, change) => change(damagedSoFar), start))
}

function hostilePlan(
  operation: Operation,
  { actors, credentialOf, lexicon, document }: PlanSources,
): fc.Arbitrary<Plan> {
  const params = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, hostileText] as const)
  const names = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)
  const types = Object.keys(operation.bodies)
  return fc.record({
    method: fc.oneof({ weight: 6, arbitrary: fc.constant(operation.method) }, fc.constantFrom(...METHODS)),
    path: fc.constant(operation.path),
    params: fc.record<Record<string, unknown>>(Object.fromEntries(params)),
    ending: fc.constantFrom('', '', '', '/', '//', '%2f', '/x'),
    query: fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names, 'limit'), hostileName), hostileText), { maxLength: 4 }),
    headers: requiredHeaders(operation, { lexicon, resolve: document.resolve }),
    body: fc.option(
      fc.record({
        type: fc.constantFrom(
          ...types,
          ...types,
          'application/json',
          'application/x-www-form-urlencoded',
          'text/plain',
        ),
        value: hostileValue,
        spoil: fc.constant(unchanged),
      }),
      { nil: undefined },
    ),
    credential: fc.constant(credentialOf(operation)),
    actor: fc.nat(actors - 1),
  })
}

function unchanged(bytes: Buffer): Buffer {
  return bytes
}
