import type { Server } from '../servers/server.ts'
import { type Distribution, distributionOf, median, pairedRatios } from '../statistics.ts'
import { type Load, type LoadGenerator, type LoadResult, tryLoad } from './load/load.ts'
import type { Endpoint } from './scenario.ts'

/** How long each sample lasts, and how many rounds there are. */
export interface Rounds {
  readonly count: number
  /** The length of one sample. */
  readonly seconds: number
}

/** The medians of the samples of one server. */
export interface SideResult extends LoadResult {
  /**
   * Processor time of the server for one request, in microseconds; undefined where the system does not say. Times the rate, it
   * is the used share of a core. Well below 1, something other than the processor was the limit.
   */
  readonly processorUs: number | undefined
}

/** An endpoint of a service, compared with the same endpoint of the reference. */
export interface Comparison {
  readonly name: string
  readonly goal: number
  readonly ofOther?: Endpoint['ofOther']
  readonly ours: SideResult
  readonly reference: SideResult
  /** The ratio of the requests a second of the same round. */
  readonly ratio: Distribution
}

/** The servers under test. */
export interface Pair {
  readonly ours: Server
  readonly reference: Server
}

/**
 * Loads both servers in turn, so that a change on the machine changes both. The first round only warms up: Node.js compiles an
 * endpoint with 2,000 requests a second for seconds, and until then a request takes half as long again.
 * @throws Error when a server refuses the load
 */
export async function compare(
  { ours, reference }: Pair,
  endpoint: Endpoint,
  generate: LoadGenerator,
  rounds: Rounds,
): Promise<Comparison> {
  for (const { url } of [ours, reference]) await tryLoad(url, await endpoint.nextLoad(url))
  const samples: { readonly ours: SideResult[]; readonly reference: SideResult[] } = { ours: [], reference: [] }
  for (let round = 0; round <= rounds.count; round++) {
    const ofOurs = await sample(ours, await endpoint.nextLoad(ours.url), generate, rounds.seconds)
    const ofReference = await sample(reference, await endpoint.nextLoad(reference.url), generate, rounds.seconds)
    if (round === 0) continue
    samples.ours.push(ofOurs)
    samples.reference.push(ofReference)
  }
  const ratios = pairedRatios(samples.ours.map(rateOf), samples.reference.map(rateOf))
  return {
    name: endpoint.name,
    goal: endpoint.goal,
    ...(endpoint.ofOther && { ofOther: endpoint.ofOther }),
    ours: summarize(samples.ours),
    reference: summarize(samples.reference),
    ratio: distributionOf(ratios),
  }
}

/** Loads one server, and notes how much processor time the server used. */
export async function sample(
  server: Server,
  load: Load,
  generate: LoadGenerator,
  seconds: number,
): Promise<SideResult> {
  const before = server.processorMs()
  const result = await generate(server.url, load, seconds)
  const after = server.processorMs()
  const requests = result.requestsPerSecond * seconds
  const isKnown = before !== undefined && after !== undefined && requests > 0
  return { ...result, processorUs: isKnown ? ((after - before) * 1_000) / requests : undefined }
}

/** Medians of the samples. Errors are summed, because one error is one too many. */
export function summarize(samples: readonly SideResult[]): SideResult {
  const times = samples.flatMap(({ processorUs }) => processorUs ?? [])
  return {
    requestsPerSecond: median(samples.map(rateOf)),
    p50Ms: median(samples.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(samples.map(({ p99Ms }) => p99Ms)),
    errors: samples.reduce((sum, { errors }) => sum + errors, 0),
    processorUs: times.length === 0 ? undefined : median(times),
  }
}

/** Requests a second. */
export function rateOf({ requestsPerSecond }: LoadResult): number {
  return requestsPerSecond
}
