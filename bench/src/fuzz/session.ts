import type { Judge } from './judge.ts'
import type { Memory } from './memory.ts'
import { findOperation, type Operation } from './openapi.ts'
import type { Answer, Sender } from './send.ts'
import type { Finding, WireRequest } from './wire.ts'

/** Sends requests, judges answers, remembers values and counts statuses. */
export interface Session {
  /** Sends some requests at once. Answers are processed in the order of the requests, so that a run can be repeated. */
  exchange(requests: readonly Sent[]): Promise<readonly unknown[]>
  addFinding(what: Omit<Finding, 'count' | 'first'>): void
  readonly findings: () => readonly Finding[]
  /** How often generated requests to each operation got each class of status, such as `2xx`; above 499 each status. */
  readonly counts: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly sent: () => number
}

export interface Sent {
  readonly actor: number
  readonly wire: WireRequest
  /** False for preparations. They are not counted, because their success says nothing about the generated requests. */
  readonly isGenerated: boolean
}

const ANSWER_MAX = 600

/** Makes a session that has sent nothing yet. */
export function createSession({
  sender,
  judge,
  memory,
  operations,
  normalPath,
}: {
  readonly sender: Sender
  readonly judge: Judge
  readonly memory: Memory
  readonly operations: readonly Operation[]
  readonly normalPath: (path: string) => string
}): Session {
  const findings = new Map<string, Finding>()
  const counts = new Map<string, Map<string, number>>()
  let sent = 0
  const addFinding = (finding: Omit<Finding, 'count' | 'first'>) => {
    const key = `${finding.operation} ${finding.problem}`
    const known = findings.get(key) ?? { ...finding, count: 0, first: sent }
    known.count += 1
    findings.set(key, known)
  }
  const take = ({ actor, wire, isGenerated }: Sent, answer: Answer | Error): unknown => {
    sent += 1
    const [path = ''] = wire.target.split(/[?#]/, 1)
    const operation = findOperation(operations, wire.method, normalPath(path))?.name ?? `${wire.method} (unknown)`
    if (answer instanceof Error) {
      addFinding({ operation, problem: `does not answer: ${answer.message}`, request: wire, answer: '' })
      return undefined
    }
    const told = `${answer.status} ${answer.headers.get('content-type') ?? ''}\n${answer.text.slice(0, ANSWER_MAX)}`
    for (const problem of judge(wire, answer)) addFinding({ operation, problem, request: wire, answer: told })
    if (isGenerated) count(counts, operation, answer.status)
    const body = parse(answer)
    if (answer.status < 400) {
      memory.learn(actor, path, valuesOfHeaders(answer))
      memory.learn(actor, path, body)
    }
    return body
  }
  return {
    addFinding,
    counts,
    findings: () => [...findings.values()],
    sent: () => sent,
    exchange: async (requests) => {
      const answers = await Promise.all(requests.map(({ wire }) => sender.send(wire).catch(toError)))
      return requests.map((each, at) => take(each, answers[at] ?? new Error('nothing came')))
    },
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

function count(counts: Map<string, Map<string, number>>, operation: string, status: number): void {
  const classes = counts.get(operation) ?? new Map<string, number>()
  const kind = status >= 500 ? String(status) : `${String(status)[0]}xx`
  classes.set(kind, (classes.get(kind) ?? 0) + 1)
  counts.set(operation, classes)
}

/** The values of headers that later requests need: a version, a cookie, the next page, the parameters of a redirect. */
function valuesOfHeaders({ headers }: Answer): Readonly<Record<string, unknown>> {
  const cursor = /[?&]cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1]
  const { code: authCode, ...carried } = redirectParameters(headers.get('location') ?? '')
  const [cookie] = headers.get('set-cookie')?.split(';', 1) ?? []
  return { ...carried, authCode, etag: headers.get('etag'), cookie, cursor: cursor && decodeURIComponent(cursor) }
}

function redirectParameters(location: string): Readonly<Record<string, string>> {
  const url = URL.parse(location, 'http://localhost')
  return url ? Object.fromEntries([...url.searchParams, ...new URLSearchParams(url.hash.slice(1))]) : {}
}

function parse({ headers, text }: Answer): unknown {
  if (!headers.get('content-type')?.includes('json')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
