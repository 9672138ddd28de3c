import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'

/** A disagreement between a service and its document. Failures with the same check, operation and error count once. */
export interface Failure {
  /** The operation of the requests, such as `GET /user`. Its method may be missing in the document. */
  readonly operation: string
  /** A check of schemathesis, such as `positive_data_acceptance`. */
  readonly check: string
  /** The status of the response, with error codes if any: `422 email_exists`, `400 amount LIMIT_EXCEEDED`. */
  readonly code: string
  readonly message: string
  /** The first request as a command line. */
  readonly request: string
  readonly count: number
}

export interface Report {
  readonly failures: readonly Failure[]
  readonly summary: string
  /** Operations with cases in the phase `examples`. */
  readonly withExample: ReadonlySet<string>
}

const Case = z.object({ value: z.object({ method: z.string(), path: z.string() }) })
const Check = z.object({
  name: z.string(),
  status: z.string(),
  failure_info: z.object({ failure: z.object({ title: z.string(), message: z.string() }) }).optional(),
})
const Interaction = z.object({
  request: z.object({
    method: z.string(),
    uri: z.string(),
    body: z.object({ $base64: z.string() }).nullish(),
    headers: z.record(z.string(), z.array(z.string())).default({}),
  }),
  response: z.object({ status_code: z.number(), content: z.object({ $base64: z.string() }).nullish() }).nullish(),
})
const Event = z.object({
  ScenarioFinished: z
    .object({
      phase: z.string(),
      recorder: z.object({
        cases: z.record(z.string(), Case).default({}),
        checks: z.record(z.string(), z.array(Check)).default({}),
        interactions: z.record(z.string(), Interaction).default({}),
      }),
    })
    .optional(),
})
const ErrorBody = z.object({
  error_code: z.string().optional(),
  code: z.union([z.string(), z.number()]).optional(),
  /** An object in payments, an OAuth error code at auth's token endpoint. */
  error: z.union([z.object({ type: z.string().optional() }), z.string().transform((type) => ({ type }))]).optional(),
})
/** The body of an error with wrong fields. */
const FieldErrors = z.array(z.object({ field: z.string(), code: z.string() }))

const BODY_LENGTH = 600

/** Reads the events of a schemathesis run. @param file NDJSON, one event per line */
export async function readReport(file: string): Promise<Report> {
  const failures = new Map<string, Failure>()
  const cases = new Map<string, number>()
  const withExample = new Set<string>()
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { ScenarioFinished: scenario } = Event.parse(JSON.parse(line))
    if (scenario === undefined) continue
    const { phase, recorder } = scenario
    cases.set(phase, (cases.get(phase) ?? 0) + Object.keys(recorder.cases).length)
    const names = Object.values(recorder.cases).map(({ value }) => `${value.method} ${value.path}`)
    if (phase === 'examples') for (const name of names) withExample.add(name)
    for (const failure of failuresOf(recorder)) {
      const key = keyOf(failure)
      failures.set(key, { ...failure, ...failures.get(key), count: (failures.get(key)?.count ?? 0) + 1 })
    }
  }
  const summary = [...cases].map(([phase, count]) => `${count} ${phase}`).join(', ')
  const sorted = [...failures.values()].sort((a, b) => a.operation.localeCompare(b.operation))
  return { failures: sorted, summary, withExample }
}

function failuresOf({
  cases,
  checks,
  interactions,
}: NonNullable<z.output<typeof Event>['ScenarioFinished']>['recorder']): readonly Failure[] {
  return Object.entries(checks).flatMap(([id, results]) => {
    const value = cases[id]?.value
    const interaction = interactions[id]
    if (value === undefined || interaction === undefined) return []
    return results
      .filter(({ status }) => status === 'failure')
      .map(({ name, failure_info: info }) => ({
        operation: `${value.method} ${value.path}`,
        check: name,
        code: codeOf(interaction),
        message: `${info?.failure.title ?? ''}: ${info?.failure.message ?? ''}`,
        request: toCurl(interaction),
        count: 1,
      }))
  })
}

function codeOf({ response }: z.output<typeof Interaction>): string {
  if (!response) return 'no answer'
  return `${response.status_code} ${errorCodesOf(decode(response.content))}`.trim()
}

function errorCodesOf(text: string): string | number {
  try {
    const body: unknown = JSON.parse(text)
    const fields = FieldErrors.safeParse(body).data
    if (fields) return fields.map(({ field, code }) => `${field} ${code}`).join(', ')
    const { error_code: errorCode, code, error } = ErrorBody.safeParse(body).data ?? {}
    return errorCode ?? code ?? error?.type ?? ''
  } catch {
    return ''
  }
}

function toCurl({ request, response }: z.output<typeof Interaction>): string {
  const headers = Object.entries(request.headers)
    .filter(([name]) => !/^(accept-encoding|connection|content-length|user-agent|host)$/i.test(name))
    .flatMap(([name, values]) => values.map((value) => `-H ${JSON.stringify(`${name}: ${value}`)}`))
  const body = decode(request.body)
  const data = body === '' ? [] : [`-d ${JSON.stringify(body.slice(0, BODY_LENGTH))}`]
  const answer = decode(response?.content).slice(0, BODY_LENGTH)
  return [`curl -X ${request.method}`, ...headers, ...data, JSON.stringify(request.uri), `→ ${answer}`].join(' ')
}

function decode(content: { readonly $base64: string } | null | undefined): string {
  return Buffer.from(content?.$base64 ?? '', 'base64').toString()
}

/** Text without wildcards, so that each accepted failure has its own entry. */
const Exact = z.string().regex(/^[^*?]+$/)
const AcceptedFailure = z.strictObject({
  operation: Exact.meta({ description: 'the method and path of the request, such as TRACE /products' }),
  check: Exact.meta({ description: 'the check of schemathesis' }),
  code: Exact.meta({ description: 'the status of the answer, with its error codes: 422 email_exists' }),
  reason: z.string().min(20).meta({ description: 'why service and document are right nevertheless' }),
})

/** A failure that is no fault of the service or its document, with the reason. */
export type AcceptedFailure = Readonly<z.output<typeof AcceptedFailure>>

/** One entry, or several that differ only in their operations. */
const AcceptedFailures = AcceptedFailure.omit({ operation: true })
  .extend({ operations: z.array(AcceptedFailure.shape.operation).min(2) })
  .transform(({ operations, ...rest }) => operations.map((operation) => ({ operation, ...rest })))
  .or(AcceptedFailure)

/** @throws ZodError if an entry has no reason or has a wildcard */
export function readAccepted(service: string): readonly AcceptedFailure[] {
  return parseAccepted(readFileSync(join(import.meta.dirname, 'accepted', `${service}.json`), 'utf8'))
}

/** @throws ZodError if an entry has no reason or has a wildcard, and Error if two entries are equal */
export function parseAccepted(text: string): readonly AcceptedFailure[] {
  const entries = z.array(AcceptedFailures).parse(JSON.parse(text)).flat()
  const keys = entries.map(keyOf)
  const repeated = keys.find((key, at) => keys.indexOf(key) !== at)
  if (repeated !== undefined) throw new Error(`${repeated} is accepted twice`)
  return entries
}

interface JudgedFailures {
  readonly unexpected: readonly Failure[]
  readonly expected: readonly AcceptedFailure[]
}

export function judge(failures: readonly Failure[], accepted: readonly AcceptedFailure[]): JudgedFailures {
  const entries = new Map(accepted.map((entry) => [keyOf(entry), entry]))
  return {
    unexpected: failures.filter((failure) => !entries.has(keyOf(failure))),
    expected: failures.flatMap((failure) => entries.get(keyOf(failure)) ?? []),
  }
}

function keyOf({ operation, check, code }: Pick<Failure, 'operation' | 'check' | 'code'>): string {
  return `${operation}: ${check}, ${code}`
}
