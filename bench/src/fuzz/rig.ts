import { Agent, type ClientRequest, request } from 'node:http'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import type { DatabaseServer } from '../servers/database.ts'
import { deploy } from '../servers/deployment.ts'
import { createJudge, type Judge } from './judge.ts'
import { createMemory, type Memory } from './memory.ts'
import { type ApiDocument, findOperation, type Operation, readApiDocument } from './openapi.ts'
import type { Plan } from './plan.ts'
import type { Ask, Ready, Target } from './target.ts'
import { type Answer, type Finding, toWire, type WireRequest } from './wire.ts'

export interface RigOptions {
  readonly folder: string
  readonly database: DatabaseServer
}

/** A service that runs as in its image, with prepared actors and a session that sends requests. */
export interface Rig {
  readonly url: string
  readonly document: ApiDocument
  readonly session: Session
  readonly memory: Memory
  readonly sender: Sender
  readonly judge: Judge
  readonly ready: Ready
  readonly logFile: string
  send(wave: readonly Plan[]): Promise<void>
  isAlive(): Promise<boolean>
  /** The memory after garbage collection, in MiB. `undefined` if it is not reported or the service has ended. */
  settledMib(): Promise<number | undefined>
}

/** Disposing of the stack stops the service. */
export async function startRig(target: Target, options: RigOptions, stack: AsyncDisposableStack): Promise<Rig> {
  const { env, prepare } = await target.surround(stack)
  const logFile = join(options.folder, `${target.service}.log`)
  const inspectorPort = await freePort()
  const deployment = await deploy(target.service, {
    folder: options.folder,
    databaseUrl: await options.database.create(`trestle_bench_fuzz_${target.service}`),
    env: {
      ...env,
      [`${target.service.toUpperCase()}_LOG_FILE`]: logFile,
      NODE_OPTIONS: `--max-semi-space-size=8 --inspect=127.0.0.1:${inspectorPort}`,
    },
  })
  const server = await deployment.start()
  stack.defer(server.stop)
  const sender = createSender(server.url)
  stack.defer(async () => sender.close())
  const document = readApiDocument(target.service)
  const memory = createMemory(target)
  let ready: Ready | undefined
  const judge = createJudge({ ...target, document, secrets: () => ready?.secrets ?? new Map() })
  const session = createSession({ ...target, sender, judge, memory, operations: document.operations })
  ready = await prepare({ deployment, memory, ask: askBy(session, (actor) => ready?.authorize('own', actor) ?? {}) })
  const { authorize } = ready
  const isAlive = async () => (await fetch(`${server.url}/health`).catch(() => undefined))?.status === 200
  return {
    url: server.url,
    document,
    session,
    memory,
    sender,
    judge,
    ready,
    logFile,
    send: async (wave) => {
      await session.exchange(
        wave.map((plan) => ({ actor: plan.actor, wire: toWire(plan, { memory, authorize }), isGenerated: true })),
      )
    },
    isAlive,
    settledMib: async () => {
      if (!(await isAlive())) return undefined
      await collectGarbage(inspectorPort)
      return server.residentMib()
    },
  }
}

function askBy(session: Session, headersOf: (actor: number) => Readonly<Record<string, string>>): Ask {
  return async ({ actor, method, target, body, headers = {} }) => {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const type = bytes === undefined ? {} : { 'content-type': 'application/json' }
    const all = Object.entries({ ...type, ...headersOf(actor), ...headers })
    const [answer] = await session.exchange([
      { actor, wire: { method, target, headers: all, body: bytes }, isGenerated: false },
    ])
    return answer
  }
}

const Targets = z.tuple([z.object({ webSocketDebuggerUrl: z.string() })])

/**
 * Collects the garbage of a process with `--inspect=127.0.0.1:<port>`. The second collection frees memory that finalizers of the
 * first have released.
 */
async function collectGarbage(port: number): Promise<void> {
  const [target] = Targets.parse(await (await fetch(`http://127.0.0.1:${port}/json/list`)).json())
  const socket = new WebSocket(target.webSocketDebuggerUrl)
  try {
    await waitForEvent(socket, 'open')
    for (let id = 1; id <= 2; id += 1) {
      const answered = waitForEvent(socket, 'message')
      socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }))
      await answered
    }
  } finally {
    socket.close()
  }
}

function waitForEvent(socket: WebSocket, event: 'open' | 'message'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener(event, () => resolve(), { once: true })
    socket.addEventListener(
      'error',
      () => reject(new Error('the process does not accept a debugger, so its garbage cannot be collected')),
      { once: true },
    )
  })
}

export interface Sender {
  /** @throws Error if no complete and valid answer arrives in time */
  send(wire: WireRequest): Promise<Answer>
  close(): void
}

const ANSWER_MS = 40_000

export function createSender(url: string): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  const { hostname, port } = new URL(url)
  const send = (wire: WireRequest): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const outgoing = request({ agent, hostname, port, method: wire.method, path: wire.target, timeout: ANSWER_MS })
      for (const [name, value] of wire.headers) outgoing.appendHeader(name, value)
      outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer within ${ANSWER_MS} ms`)))
      outgoing.once('error', (error) => (isClosedByServer(outgoing, error) ? resolve(send(wire)) : reject(error)))
      outgoing.once('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.once('error', reject)
        response.once('end', () => {
          const headers = new Map<string, string>()
          for (const [name, values] of Object.entries(response.headersDistinct)) {
            headers.set(name, (values ?? []).join(', '))
          }
          try {
            const text = unpack(Buffer.concat(chunks), headers.get('content-encoding'))
            resolve({ status: response.statusCode ?? 0, headers, text })
          } catch (error) {
            reject(error)
          }
        })
      })
      if (wire.body !== undefined) outgoing.setHeader('content-length', wire.body.length)
      outgoing.end(wire.body)
    })
  return { send, close: () => agent.destroy() }
}

const unpackers = new Map([
  ['gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
])

/**
 * Returns the text of a body, which is compressed if the request allows it.
 * @throws Error if the body does not have the encoding that its header states
 */
function unpack(bytes: Buffer, coding = ''): string {
  const unpacker = bytes.length > 0 ? unpackers.get(coding) : undefined
  return (unpacker ? unpacker(bytes) : bytes).toString()
}

/**
 * Whether the server closed a kept-alive connection just now. The request is then sent again. After a timeout it is not, because
 * the server has received the request, so the missing answer is a finding.
 */
function isClosedByServer({ reusedSocket }: ClientRequest, error: Error): boolean {
  return reusedSocket && 'code' in error && /^(ECONNRESET|EPIPE)$/.test(String(error.code))
}

/** Sends requests, judges answers, stores values and counts statuses. */
export interface Session {
  /** Sends requests in parallel. Handles answers in the order of the requests, so that a run can be repeated. */
  exchange(requests: readonly Sent[]): Promise<readonly unknown[]>
  addFinding(what: Omit<Finding, 'count' | 'first'>): void
  readonly findings: () => readonly Finding[]
  /** The number of answers to generated requests, by operation and class of status (`2xx`). Above 499, by status. */
  readonly counts: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly sent: () => number
}

interface Sent {
  readonly actor: number
  readonly wire: WireRequest
  /** `false` for preparations. They are not counted, because their success proves nothing about generated requests. */
  readonly isGenerated: boolean
}

const ANSWER_MAX = 600

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
    const shown = `${answer.status} ${answer.headers.get('content-type') ?? ''}\n${answer.text.slice(0, ANSWER_MAX)}`
    for (const problem of judge(wire, answer)) addFinding({ operation, problem, request: wire, answer: shown })
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

/** Returns the header values that later requests need: a version, a cookie, the next page, parameters of a redirect. */
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
