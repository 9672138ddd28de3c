import { readFileSync } from 'node:fs'
import { findLogProblems } from './judge.ts'
import type { Operation } from './openapi.ts'
import { countValues, type Plan, replaceAt } from './plan.ts'
import { plans } from './plans.ts'
import { exchangeBytes, holdOpen, judgeRaw, type RawRequest, rawRequests } from './raw-requests.ts'
import { type Rig, type RigOptions, type Session, startRig } from './rig.ts'
import { sourcesOf, type Target } from './target.ts'
import type { Finding, WireRequest } from './wire.ts'

/** Where the service runs, and the number of requests. */
export interface FuzzOptions extends RigOptions {
  readonly seed: number
  readonly requests: number
  /** Ends the run early. The result contains the findings so far. */
  readonly stop: AbortSignal
}

export interface FuzzResult {
  readonly url: string
  readonly sent: number
  readonly findings: readonly Finding[]
  /** MiB before and after. `undefined` if the system does not report memory. */
  readonly memory: readonly [before: number | undefined, after: number | undefined]
  readonly counts: Session['counts']
  /** Operations that document a success but had none. */
  readonly unreached: readonly string[]
}

const WAVE = 8
const REFRESH_EVERY = 256
/** The number of requests before memory is first measured. They load code and fill pools and caches. */
const WARM_UP = 4_000
/** The largest allowed growth of memory, in MiB. */
const GROWTH_MIB_MAX = 50

export async function fuzzService(target: Target, options: FuzzOptions): Promise<FuzzResult> {
  await using started = new AsyncDisposableStack()
  const rig = await startRig(target, options, started)
  const { session, document, ready } = rig
  const sources = sourcesOf(target, document)
  await run(rig, plans(sources, ~options.seed), { ...options, requests: Math.min(WARM_UP, options.requests) })
  await runBytes(rig, target)
  const before = await rig.settledMib()
  await run(rig, plans(sources, options.seed), options)
  await runBytes(rig, target)
  const after = await rig.settledMib()
  const secrets = new Map([...ready.secrets, ...tokensOf(target, rig)])
  for (const problem of findLogProblems(readFileSync(rig.logFile, 'utf8'), { secrets, caused: target.causedErrors })) {
    session.addFinding(findingBesideAnswers('log', problem))
  }
  if (before !== undefined && after !== undefined && after > before + GROWTH_MIB_MAX) {
    session.addFinding(findingBesideAnswers('memory', `grew from ${before.toFixed(0)} to ${after.toFixed(0)} MiB`))
  }
  const findings: Finding[] = []
  for (const finding of session.findings()) findings.push(await findSmallest(rig, finding))
  return {
    url: rig.url,
    sent: session.sent(),
    findings,
    memory: [before, after],
    counts: session.counts,
    unreached: findUnreached(document.operations, session.counts),
  }
}

/** Returns secrets with the name of their pool and a number. */
function tokensOf({ tokens }: Target, { memory }: Rig): readonly (readonly [name: string, value: string])[] {
  return tokens.flatMap((pool) => memory.all(pool).map((value, at) => [`${pool} ${at}`, String(value)] as const))
}

async function run(rig: Rig, plan: Iterator<Plan>, { requests, stop }: FuzzOptions): Promise<void> {
  for (let done = 0; done < requests && !stop.aborted; done += WAVE) {
    if (done % REFRESH_EVERY === 0) {
      if (!(await rig.isAlive())) return rig.session.addFinding(findingBesideAnswers('process', 'no longer answers'))
      await refresh(rig)
    }
    await rig.send(take(plan, Math.min(WAVE, requests - done)))
  }
}

/** A failed preparation is a finding too. The run continues with the existing objects. */
async function refresh({ ready, session }: Rig): Promise<void> {
  try {
    await ready.refresh()
  } catch (error) {
    session.addFinding(
      findingBesideAnswers('preparation', `fails: ${error instanceof Error ? error.message : String(error)}`),
    )
  }
}

function take(requests: Iterator<Plan>, count: number): readonly Plan[] {
  return Array.from({ length: count }, () => {
    const next = requests.next()
    if (next.done) throw new Error('there are no more requests')
    return next.value
  })
}

/** Sends all raw requests one after the other, and checks that the service still answers. */
async function runBytes(rig: Rig, { raw }: Target): Promise<void> {
  if (!(await rig.isAlive())) return
  const { session, ready, url } = rig
  const headers = Object.entries(ready.authorize('own', 0))
  const credential = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  for (const request of rawRequests({ ...raw, credential })) {
    for (const problem of await judgeBytes(rig, request)) session.addFinding(inBytes(request, problem))
  }
  for (const problem of await holdOpen(url, rig.isAlive))
    session.addFinding(findingBesideAnswers('connections', problem))
}

async function judgeBytes({ url, ready }: Rig, request: RawRequest): Promise<readonly string[]> {
  try {
    return judgeRaw(request, await exchangeBytes(url, request), ready.secrets)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

const NO_REQUEST: WireRequest = { method: '', target: '', headers: [], body: undefined }

function findingBesideAnswers(operation: string, problem: string) {
  return { operation, problem, request: NO_REQUEST, answer: '' }
}

function inBytes({ name, bytes }: RawRequest, problem: string) {
  return {
    operation: `bytes: ${name}`,
    problem,
    request: NO_REQUEST,
    answer: `sent: ${JSON.stringify(bytes.toString('latin1').slice(0, 300))}`,
  }
}

/** Repeats the request in smaller and smaller forms, with the present state of the service. */
async function findSmallest({ sender, judge }: Rig, finding: Finding): Promise<Finding> {
  if (finding.request === NO_REQUEST) return finding
  const request = await shrink(finding.request, async (wire) => {
    try {
      return judge(wire, await sender.send(wire)).includes(finding.problem)
    } catch {
      return false
    }
  })
  return { ...finding, request }
}

/** Operations that document no success are excluded. */
export function findUnreached(
  operations: readonly Pick<Operation, 'name' | 'answers'>[],
  counts: Session['counts'],
): readonly string[] {
  const names = operations.filter(({ answers }) => Object.keys(answers).some(isSuccess)).map(({ name }) => name)
  return names.filter((name) => ![...(counts.get(name)?.keys() ?? [])].some(isSuccess))
}

/** @param status a status, or a class such as `2xx` */
function isSuccess(status: string): boolean {
  return /^[23]/.test(status)
}

const ATTEMPTS_MAX = 60

/**
 * Removes parts of a request while the fault remains.
 * @param isFaulty sends a request and judges its answer
 * @returns the smallest faulty request
 */
export async function shrink(
  start: WireRequest,
  isFaulty: (request: WireRequest) => Promise<boolean>,
): Promise<WireRequest> {
  let smallest = start
  let attempts = 0
  for (let at = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const smaller = smallerRequests(smallest)[at]
    if (smaller === undefined) break
    if (await isFaulty(smaller)) {
      smallest = smaller
      at = 0
    } else at += 1
  }
  return smallest
}

/** Returns the request without one header, parameter or member, or without its body. */
function smallerRequests(request: WireRequest): readonly WireRequest[] {
  const [path = '', query] = request.target.split('?')
  const pairs = query?.split('&') ?? []
  const body = parse(request.body)
  return [
    ...(request.body === undefined ? [] : [{ ...request, body: undefined }]),
    ...pairs.map((_, at) => ({ ...request, target: toTarget(path, without(pairs, at)) })),
    ...request.headers.map((_, at) => ({ ...request, headers: without(request.headers, at) })),
    ...Array.from({ length: Math.min(countValues(body), ATTEMPTS_MAX) }, (_, at) => ({
      ...request,
      body: Buffer.from(JSON.stringify(replaceAt(body, at, () => undefined))),
    })),
  ]
}

function without<T>(items: readonly T[], at: number): readonly T[] {
  return items.filter((_, index) => index !== at)
}

function toTarget(path: string, pairs: readonly string[]): string {
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
}

/** Returns `undefined` if the body is not JSON. It can then only be omitted as a whole. */
function parse(body: Buffer | undefined): unknown {
  try {
    return JSON.parse(body?.toString() ?? '')
  } catch {
    return undefined
  }
}
